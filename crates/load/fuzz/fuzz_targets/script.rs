//! Any text: the parser must answer, and what it accepts must render.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pgclinic_load::script::{Command, Names, Protocol, Script, Variables};

fuzz_target!(|text: &str| {
    for protocol in [Protocol::Simple, Protocol::Prepared] {
        let mut names = Names::new();
        let Ok(script) = Script::parse("fuzz.sql", text, protocol, &mut names) else {
            continue;
        };
        let variables = Variables::new(&names);
        let mut out = Vec::new();
        for command in &script.commands {
            if let Command::Sql(sql) = command {
                sql.render_simple(&variables, &mut out);
                sql.for_each_param(&variables, |parameter| assert!(parameter.is_none()));
            }
        }
    }
});
