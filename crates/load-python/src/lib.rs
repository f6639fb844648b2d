//! `pgclinic._load`: the Python door of the load engine. JSON in, JSON out, and nothing of the engine's own types.
//!
//! A load runs without the GIL. The calling thread takes it once a second for `on_progress` and often enough to notice
//! signals; whatever Python raises there ends the load, lets it drain, and is raised again.

use pgclinic_load::outline::{Outlined, OutlinedKind};
use pgclinic_load::rows::Tables;
use pgclinic_load::script::ScriptError as ScriptFault;
use pgclinic_load::spec::Protocol;
use pgclinic_load::tpcc::fill::{Rows, Table};
use pgclinic_load::{Event, LoadError, LoadSpec, Observer, Progress};
use pyo3::create_exception;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

create_exception!(
    pgclinic._load,
    SpecError,
    PyValueError,
    "The spec is not one that can be run."
);
create_exception!(
    pgclinic._load,
    ScriptError,
    SpecError,
    "A script that cannot be parsed; has the attributes file, line, column, token and problem."
);
create_exception!(
    pgclinic._load,
    RunError,
    PyRuntimeError,
    "The engine could not do its work."
);

/// Ends a load from another thread.
#[pyclass(frozen, module = "pgclinic._load")]
struct Stopper {
    inner: pgclinic_load::Stopper,
}

#[pymethods]
impl Stopper {
    #[new]
    fn new() -> Self {
        Self {
            inner: pgclinic_load::Stopper::default(),
        }
    }

    /// The first call ends measuring and drains, the second ends at once.
    fn stop(&self) {
        self.inner.stop();
    }

    /// Whether stop was called.
    #[getter]
    fn stopped(&self) -> bool {
        self.inner.is_stopped()
    }
}

/// The rows of one table of a new TPC-C database: an iterator over the blocks of a binary COPY.
#[pyclass(module = "pgclinic._load")]
struct TpccRows {
    rows: Rows,
    block: Vec<u8>,
}

#[pymethods]
impl TpccRows {
    #[new]
    fn new(table: &str, warehouses: u32, seed: u64) -> PyResult<Self> {
        let Some(table) = Table::named(table) else {
            return Err(PyValueError::new_err(format!("TPC-C has no table {table:?}")));
        };
        Ok(Self {
            rows: Rows::new(table, warehouses, seed),
            block: Vec::new(),
        })
    }

    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    /// The next block, made without the GIL.
    fn __next__<'py>(&mut self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        let Self { rows, block } = self;
        py.detach(|| rows.next_block(block)).then(|| PyBytes::new(py, block))
    }

    /// How much of all rows was given, from 0 to 1.
    #[getter]
    fn share(&self) -> f64 {
        self.rows.share()
    }
}

/// The rows of the tables of a twin, made from a plan: one table after the other, as the blocks of a COPY in text form.
#[pyclass(module = "pgclinic._load")]
struct TwinRows {
    tables: Tables,
    block: Vec<u8>,
}

#[pymethods]
impl TwinRows {
    #[new]
    fn new(py: Python<'_>, plan_json: &str) -> PyResult<Self> {
        let tables = py
            .detach(|| Tables::from_json(plan_json))
            .map_err(PyValueError::new_err)?;
        let block = Vec::new();
        Ok(Self { tables, block })
    }

    /// Makes a table without the GIL and returns how many rows it has; iterating then gives them.
    fn make(&mut self, py: Python<'_>, table: usize) -> PyResult<u64> {
        let made = py.detach(|| self.tables.make(table));
        made.ok_or_else(|| PyValueError::new_err(format!("the plan has no table {table}")))
    }

    fn __iter__(this: PyRef<'_, Self>) -> PyRef<'_, Self> {
        this
    }

    /// The next block of the table made last.
    fn __next__<'py>(&mut self, py: Python<'py>) -> Option<Bound<'py, PyBytes>> {
        let Self { tables, block } = self;
        py.detach(|| tables.next_block(block)).then(|| PyBytes::new(py, block))
    }

    /// How much of the table made last was given, from 0 to 1.
    #[getter]
    fn share(&self) -> f64 {
        self.tables.share()
    }
}

/// Hands progress to Python and keeps what it raises.
struct Caller {
    on_progress: Option<Py<PyAny>>,
    on_event: Option<Py<PyAny>>,
    should_stop: Option<Py<PyAny>>,
    is_warm: Option<Py<PyAny>>,
    stopper: pgclinic_load::Stopper,
    raised: Option<PyErr>,
}

impl Caller {
    fn call<T>(&mut self, call: impl FnOnce(Python<'_>, &Self) -> PyResult<T>) -> Option<T> {
        match Python::attach(|py| call(py, self)) {
            Ok(value) => Some(value),
            Err(error) => {
                self.raised.get_or_insert(error);
                self.stopper.stop();
                None
            }
        }
    }
}

impl Observer for Caller {
    fn progress(&mut self, progress: &Progress) {
        let Ok(text) = serde_json::to_string(progress) else {
            return;
        };
        if self.raised.is_some() {
            return;
        }
        self.call(|py, caller| match &caller.on_progress {
            Some(on_progress) => on_progress.call1(py, (text,)).map(drop),
            None => Ok(()),
        });
    }

    fn event(&mut self, event: &Event) {
        let Ok(text) = serde_json::to_string(event) else {
            return;
        };
        if self.raised.is_some() {
            return;
        }
        self.call(|py, caller| match &caller.on_event {
            Some(on_event) => on_event.call1(py, (text,)).map(drop),
            None => Ok(()),
        });
    }

    fn is_warm(&mut self) -> bool {
        let is_warm = self.call(|py, caller| match &caller.is_warm {
            Some(is_warm) if caller.raised.is_none() => is_warm.call0(py)?.is_truthy(py),
            _ => Ok(false),
        });
        is_warm.unwrap_or(false)
    }

    fn wants_stop(&mut self) -> bool {
        let wants_stop = self.call(|py, caller| {
            py.check_signals()?;
            match &caller.should_stop {
                Some(should_stop) if !caller.stopper.is_stopped() => should_stop.call0(py)?.is_truthy(py),
                _ => Ok(false),
            }
        });
        // An error of Python ends the load too.
        wants_stop.unwrap_or(true)
    }
}

/// Runs the load that `spec_json` describes and returns its result as JSON.
#[pyfunction]
#[pyo3(signature = (spec_json, on_progress=None, stopper=None, should_stop=None, is_warm=None, on_event=None))]
fn run(
    py: Python<'_>,
    spec_json: &str,
    on_progress: Option<Py<PyAny>>,
    stopper: Option<&Stopper>,
    should_stop: Option<Py<PyAny>>,
    is_warm: Option<Py<PyAny>>,
    on_event: Option<Py<PyAny>>,
) -> PyResult<String> {
    let spec = LoadSpec::from_json(spec_json).map_err(|error| to_python(py, &error))?;
    let stopper = stopper.map_or_else(pgclinic_load::Stopper::default, |stopper| stopper.inner.clone());
    let mut caller = Caller {
        on_progress,
        on_event,
        should_stop,
        is_warm,
        stopper: stopper.clone(),
        raised: None,
    };
    let result = py.detach(|| pgclinic_load::run(&spec, &stopper, &mut caller));
    if let Some(error) = caller.raised {
        return Err(error);
    }
    let result = result.map_err(|error| to_python(py, &error))?;
    serde_json::to_string(&result).map_err(|error| RunError::new_err(error.to_string()))
}

/// Which engine this is: version, profile (release or debug), io (what it can use, best first).
#[pyfunction]
fn build_info(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let info = PyDict::new(py);
    info.set_item("version", pgclinic_load::VERSION)?;
    info.set_item("profile", pgclinic_load::PROFILE)?;
    info.set_item("io", pgclinic_load::IO)?;
    Ok(info)
}

/// The scripts that pgbench brings along, as (name, description, text), in its order.
#[pyfunction]
fn builtins() -> Vec<(&'static str, &'static str, &'static str)> {
    let each = pgclinic_load::script::BUILTINS.iter();
    each.map(|builtin| (builtin.name, builtin.description, builtin.text))
        .collect()
}

/// Line, whether it is conditional, SQL between its variables, statements.
type OutlinedTuple = (u32, bool, Option<Vec<String>>, usize);

/// What a script would send and run: (line, conditional, SQL between its variables or None for the shell, statements).
#[pyfunction]
fn outline_script(py: Python<'_>, name: &str, text: &str, protocol: &str) -> PyResult<Vec<OutlinedTuple>> {
    let outlined = pgclinic_load::outline::outline(name, text, protocol_named(protocol)?)
        .map_err(|error| to_python(py, &error))?;
    let as_tuple = |one: Outlined| match one.kind {
        OutlinedKind::Sql { parts, statements } => (one.line, one.conditional, Some(parts), statements),
        OutlinedKind::Shell => (one.line, one.conditional, None, 0),
    };
    Ok(outlined.into_iter().map(as_tuple).collect())
}

/// Raises ScriptError unless `text` is a script that can be run with this protocol.
#[pyfunction]
fn check_script(py: Python<'_>, name: &str, text: &str, protocol: &str) -> PyResult<()> {
    pgclinic_load::check_script(name, text, protocol_named(protocol)?).map_err(|error| to_python(py, &error))
}

fn protocol_named(name: &str) -> PyResult<Protocol> {
    match name {
        "simple" => Ok(Protocol::Simple),
        "extended" => Ok(Protocol::Extended),
        "prepared" => Ok(Protocol::Prepared),
        other => Err(PyValueError::new_err(format!("unknown protocol {other:?}"))),
    }
}

fn to_python(py: Python<'_>, error: &LoadError) -> PyErr {
    match error {
        LoadError::Script(fault) => script_error(py, fault).unwrap_or_else(|error| error),
        _ if error.is_usage() => SpecError::new_err(error.to_string()),
        _ => RunError::new_err(error.to_string()),
    }
}

fn script_error(py: Python<'_>, fault: &ScriptFault) -> PyResult<PyErr> {
    let error = ScriptError::new_err(fault.to_string());
    let value = error.value(py);
    value.setattr("file", &fault.file)?;
    value.setattr("line", fault.line)?;
    value.setattr("column", fault.column)?;
    value.setattr("token", &fault.token)?;
    value.setattr("problem", &fault.message)?;
    Ok(error)
}

#[pymodule]
mod _load {
    #[pymodule_export]
    use super::{
        build_info, builtins, check_script, outline_script, run, RunError, ScriptError, SpecError, Stopper, TpccRows,
        TwinRows,
    };
}
