//! Any expression over a variable of any text: evaluation gives a value or an error, and the printed form parses again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pgclinic_load::script::{Command, Names, Prng, Protocol, Script, Variables};

fuzz_target!(|input: (&str, &[u8], u64)| {
    let (text, variable, seed) = input;
    let mut names = Names::new();
    let a = names.intern("a");
    let Ok(script) = Script::parse("fuzz.sql", &format!("\\set x {text}"), Protocol::Simple, &mut names) else {
        return;
    };
    let Some(Command::Set { expr, .. }) = script.commands.first() else {
        return;
    };
    let mut variables = Variables::new(&names);
    variables.set_text(a, variable);
    let _ = expr.eval(&mut variables, &mut Prng::seeded(seed));
    let printed = format!("\\set x {}", expr.display(&names));
    if let Err(error) = Script::parse("printed.sql", &printed, Protocol::Simple, &mut names) {
        // The printed form has more parentheses and may be the one that is too deep.
        assert!(error.message.contains("nested"), "{printed}");
    }
});
