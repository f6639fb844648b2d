//! Runs a script without a server: what `debug()` saw and what would be sent, for comparison with pgbench.

use pgclinic_load::script::{Command, Names, Prng, Protocol, Script, SeedPlan, Value, Variables};

/// The seed of every recording.
pub const SEED: u64 = 42;

/// What a run shows.
#[derive(Debug, Default, PartialEq)]
pub struct Outcome {
    pub debug: Vec<String>,
    pub sql: Vec<String>,
    /// The client stopped here.
    pub error: Option<String>,
}

/// Parses and runs one transaction of client 0 with the simple protocol; the error is the parser's. A line
/// `-- define name=value` stands for the option `-D name=value`.
pub fn run(name: &str, text: &str) -> Result<Outcome, String> {
    let mut names = Names::new();
    let script = Script::parse(name, text, Protocol::Simple, &mut names).map_err(|error| error.to_string())?;
    let definitions: Vec<_> = text
        .lines()
        .filter_map(|line| line.strip_prefix("-- define ")?.split_once('='))
        .collect();
    let plan = SeedPlan::draw(SEED, 1, 1, true);
    let mut variables = Variables::new(&names);
    variables.set(Names::SCALE, Value::Int(1));
    variables.set(Names::CLIENT_ID, Value::Int(0));
    variables.set(Names::RANDOM_SEED, Value::Int(SEED as i64));
    variables.set(Names::DEFAULT_SEED, Value::Int(plan.default_seed.unwrap()));
    for (name, value) in definitions {
        if let Some(slot) = names.get(name) {
            variables.set_text(slot, value.as_bytes());
        }
    }
    let mut prng = plan.clients[0];
    let mut outcome = Outcome::default();
    let mut next = 0;
    while let Some(command) = script.commands.get(next) {
        let step = step(command, next, &mut variables, &mut prng, &mut outcome);
        outcome.debug.extend(variables.drain_debug().map(describe));
        match step {
            Ok(place) => next = place,
            Err(error) => {
                outcome.error = Some(error);
                break;
            }
        }
    }
    Ok(outcome)
}

fn step(
    command: &Command,
    at: usize,
    variables: &mut Variables,
    prng: &mut Prng,
    outcome: &mut Outcome,
) -> Result<usize, String> {
    match command {
        Command::Set { slot, expr, .. } => {
            let value = expr.eval(variables, prng).map_err(|error| error.to_string())?;
            variables.set(*slot, value);
        }
        Command::If {
            condition, otherwise, ..
        } => {
            if !condition.is_true(variables, prng).map_err(|error| error.to_string())? {
                return Ok(*otherwise);
            }
        }
        Command::Jump { target, .. } => return Ok(*target),
        Command::Sql(sql) => {
            let mut text = Vec::new();
            sql.render_simple(variables, &mut text);
            outcome.sql.push(String::from_utf8(text).unwrap());
        }
        Command::Sleep { sleep, .. } => {
            sleep.microseconds(variables).map_err(|error| error.to_string())?;
        }
        Command::Draw { .. }
        | Command::Shell { .. }
        | Command::SetShell { .. }
        | Command::StartPipeline { .. }
        | Command::SyncPipeline { .. }
        | Command::EndPipeline { .. } => {}
    }
    Ok(at + 1)
}

fn describe(value: Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(_) => format!("boolean {value}"),
        Value::Int(_) => format!("int {value}"),
        Value::Double(_) => format!("double {value}"),
    }
}
