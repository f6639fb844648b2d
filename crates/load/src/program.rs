//! What the clients of a load execute: the scripts, parsed once and shared by all threads.

use crate::drawn::Drawn;
use crate::error::LoadError;
use crate::listing;
pub use crate::listing::{Place, Statement};
use crate::result::StatementKind;
use crate::script::{self, Command, Names, Script, SeedPlan, Variables};
use crate::spec::{self, LoadSpec, Protocol, TpccSpec};
use crate::tpcc;

/// A statement of the prepared protocol.
#[derive(Clone, Debug)]
pub struct Prepared {
    /// Its name in every session.
    pub name: String,
    pub sql: String,
}

/// One script, ready to run.
#[derive(Clone, Debug)]
pub struct Routine {
    pub name: String,
    pub weight: u32,
    pub commands: Vec<Command>,
    /// One for each command.
    pub places: Vec<Place>,
    pub statements: Vec<Statement>,
}

impl Routine {
    /// Lists a statement of no script: its line is its number. Returns its index.
    fn add_statement(&mut self, sql: &str) -> Option<u32> {
        let index = u32::try_from(self.statements.len()).ok()?;
        self.statements.push(Statement {
            line: index + 1,
            text: sql.to_owned(),
            kind: StatementKind::Sql,
        });
        Some(index)
    }
}

/// See the module.
#[derive(Debug)]
pub struct Program {
    pub protocol: Protocol,
    pub routines: Vec<Routine>,
    pub weights: Vec<i64>,
    pub prepared: Vec<Prepared>,
    /// What `\draw` deals.
    pub values: Vec<Drawn>,
    pub names: Names,
    /// TPC-C's transactions stand among the routines without commands: a terminal knows what they say.
    pub tpcc: Option<Tpcc>,
}

/// TPC-C, as all clients share it.
#[derive(Debug)]
pub struct Tpcc {
    pub plan: tpcc::Plan,
    /// For each prepared statement its index among the statements of its transaction.
    pub statements: Vec<Option<u32>>,
}

impl Program {
    /// Parses all scripts of the spec.
    pub fn compile(spec: &LoadSpec) -> Result<Self, LoadError> {
        let mut program = Self {
            protocol: spec.protocol,
            routines: Vec::new(),
            weights: Vec::new(),
            prepared: Vec::new(),
            values: Vec::new(),
            names: Names::new(),
            tpcc: None,
        };
        if let Some(tpcc) = &spec.tpcc {
            program.add_tpcc(tpcc, spec);
        }
        for source in &spec.scripts {
            let script = Script::parse(&source.name, &source.text, language(spec.protocol), &mut program.names)?;
            let mut routine = program.routine(source, script, spec.time_meta_commands);
            program.add_values(source, &mut routine)?;
            program.weights.push(i64::from(source.weight));
            program.routines.push(routine);
        }
        for name in spec.variables.keys() {
            if !Names::is_valid(name) {
                return Err(LoadError::spec(
                    format!("variables.{name}"),
                    "is no name that a variable can have",
                ));
            }
            program.names.intern(name);
        }
        Ok(program)
    }

    /// The values of one script, and where each of its `\draw` commands finds them.
    fn add_values(&mut self, source: &spec::Script, routine: &mut Routine) -> Result<(), LoadError> {
        let first = self.values.len();
        for values in &source.values {
            self.values.push(Drawn::new(values, self.protocol, &mut self.names));
        }
        for (command, place) in routine.commands.iter().zip(&mut routine.places) {
            let Command::Draw { line, values: name } = command else {
                continue;
            };
            let Some(found) = source.values.iter().position(|values| values.name == *name) else {
                let field = format!("scripts.{}", source.name);
                let problem = format!("line {line}: \\draw {name}: the script has no values of that name");
                return Err(LoadError::spec(field, problem));
            };
            place.values = u32::try_from(first + found).ok();
        }
        Ok(())
    }

    /// The five transactions as scripts, and all that they say as prepared statements.
    fn add_tpcc(&mut self, tpcc: &TpccSpec, spec: &LoadSpec) {
        self.protocol = Protocol::Prepared;
        for kind in tpcc::Kind::ALL {
            self.weights.push(i64::from(kind.weight()));
            self.routines.push(Routine {
                name: kind.name().to_owned(),
                weight: kind.weight(),
                commands: Vec::new(),
                places: Vec::new(),
                statements: Vec::new(),
            });
        }
        let mut indexes = Vec::new();
        for (kind, sql) in tpcc::texts(tpcc) {
            let routine = kind.and_then(|kind| self.routines.get_mut(kind as usize));
            indexes.push(routine.and_then(|routine| routine.add_statement(&sql)));
            let name = format!("P_{}", self.prepared.len());
            self.prepared.push(Prepared { name, sql });
        }
        self.tpcc = Some(Tpcc {
            plan: tpcc::Plan::new(tpcc, spec.clients, spec.seed),
            statements: indexes,
        });
    }

    fn routine(&mut self, source: &spec::Script, script: Script, lists_all: bool) -> Routine {
        let mut places = listing::numbered(&script);
        let mut statements = Vec::new();
        for (index, (command, place)) in script.commands.iter().zip(&mut places).enumerate() {
            if lists_all {
                statements.extend(listing::block_ends(&script, index));
            }
            let statement = if lists_all {
                listing::any_statement(&script, index, &source.text)
            } else {
                listing::waiting_statement(command)
            };
            if let Some(statement) = statement {
                place.statement = u32::try_from(statements.len()).ok();
                statements.push(statement);
            }
            if let (Command::Sql(sql), Protocol::Prepared) = (command, self.protocol) {
                place.prepared = u32::try_from(self.prepared.len()).ok();
                let name = format!("P_{}", self.prepared.len());
                self.prepared.push(Prepared {
                    name,
                    sql: sql.prepared_text().to_owned(),
                });
            }
        }
        if lists_all {
            statements.extend(listing::block_ends(&script, script.commands.len()));
        }
        Routine {
            name: source.name.clone(),
            weight: source.weight,
            commands: script.commands,
            places,
            statements,
        }
    }

    /// The variables of one client before its first transaction.
    pub fn variables(&self, spec: &LoadSpec, plan: &SeedPlan, client: usize) -> Variables {
        use script::Value::Int;
        let mut variables = Variables::new(&self.names);
        variables.set(Names::SCALE, Int(1));
        variables.set(Names::CLIENT_ID, Int(i64::try_from(client).unwrap_or(i64::MAX)));
        variables.set(Names::RANDOM_SEED, Int(spec.seed as i64));
        if let Some(seed) = plan.default_seed {
            variables.set(Names::DEFAULT_SEED, Int(seed));
        }
        for (name, text) in &spec.variables {
            if let Some(slot) = self.names.get(name) {
                variables.set_text(slot, text.as_bytes());
            }
        }
        variables
    }

    /// The name of a script.
    pub fn script_name(&self, script: u16) -> String {
        self.routines
            .get(usize::from(script))
            .map_or_else(String::new, |routine| routine.name.clone())
    }

    /// How many statements each script has.
    pub fn statement_counts(&self) -> Vec<usize> {
        self.routines.iter().map(|routine| routine.statements.len()).collect()
    }
}

/// Checks one script without running it.
pub fn check_script(name: &str, text: &str, protocol: Protocol) -> Result<(), LoadError> {
    Script::parse(name, text, language(protocol), &mut Names::new())?;
    Ok(())
}

pub(crate) fn language(protocol: Protocol) -> script::Protocol {
    match protocol {
        Protocol::Simple => script::Protocol::Simple,
        Protocol::Extended => script::Protocol::Extended,
        Protocol::Prepared => script::Protocol::Prepared,
    }
}
