//! What the parser makes of scripts, and where it says that they are wrong.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

use pgclinic_load::script::{Capture, Command, Names, Prng, Protocol, Script, SqlCommand, Value, Variables};

fn parse(text: &str) -> Script {
    Script::parse("test.sql", text, Protocol::Extended, &mut Names::new()).unwrap()
}

fn error(text: &str) -> String {
    Script::parse("test.sql", text, Protocol::Extended, &mut Names::new())
        .unwrap_err()
        .to_string()
}

fn sql(script: &Script, index: usize) -> &SqlCommand {
    match &script.commands[index] {
        Command::Sql(sql) => sql,
        other => panic!("not SQL: {other:?}"),
    }
}

#[test]
fn errors_name_the_place_and_the_token() {
    let cases = [
        ("select 1;\n\n  \\set x 1 + foo(2)\n", "test.sql:3:14: syntax error at \"foo\": there is no such function"),
        ("\\set x 1 +\n", "test.sql:1:11: syntax error at the end: a value is missing"),
        ("\\set é é(1)", "test.sql:1:8: syntax error at \"é\": there is no such function"),
        ("\\set x 1 \\\n  2", "test.sql:2:3: syntax error at \"2\": the expression should end here, or go on with an operator"),
        ("\\if 0\n\\foo\n\\endif", "test.sql:2:2: syntax error at \"foo\": there is no such meta command"),
        ("select 1;\n\\endif\n", "test.sql:2:1: syntax error at \"\\endif\": \\endif without \\if"),
        ("\\if 1\n\\else\n  \\elif 1\n", "test.sql:3:3: syntax error at \"\\elif\": \\elif after \\else"),
        ("\\if 1\n\\if 2\n\\endif\n", "test.sql:1:1: syntax error at \"\\if\": \\if without \\endif"),
        ("\\sleep 1 h", "test.sql:1:10: syntax error at \"h\": the unit must be us, ms or s"),
        ("\\set 1x 1", "test.sql:1:6: syntax error at \"1x\": a variable name has letters, digits and underscores, and no digit first"),
        ("\\set x abs(1, 2)", "test.sql:1:8: syntax error at \"abs\": this function takes 1 arguments, not 2"),
        ("\\set x 99999999999999999999", "test.sql:1:8: syntax error at \"99999999999999999999\": this integer does not fit 64 bits"),
        ("\n-- nothing\n", "test.sql:3:1: syntax error at the end: the script has no commands"),
    ];
    for (text, message) in cases {
        assert_eq!(error(text), message);
    }
}

#[test]
fn depth_is_limited_not_fatal() {
    for deep in ["(", "-", "not ", "abs(", "case when ", "~", "1+"] {
        let message = error(&format!("\\set x {}", deep.repeat(100_000)));
        assert!(message.contains("nested") || message.contains("missing"), "{message}");
    }
    let long = format!("\\set x 1{}", " + 1".repeat(100_000));
    assert!(error(&long).contains("nested"));
    let allowed = format!("\\set x 1{}", " + 1".repeat(400));
    assert_eq!(parse(&allowed).commands.len(), 1);
}

#[test]
fn too_many_parameters_are_refused_unless_the_protocol_is_simple() {
    let text = format!("select {};", vec![":x"; 256].join(","));
    assert!(error(&text).contains("more than 255 parameters"));
    assert!(Script::parse("test.sql", &text, Protocol::Simple, &mut Names::new()).is_ok());
}

#[test]
fn conditions_know_where_to_continue() {
    let script = parse("\\if 1\nselect 1;\n\\elif 2\nselect 2;\n\\else\nselect 3;\n\\endif\nselect 4;\n");
    let steps: Vec<_> = script
        .commands
        .iter()
        .map(|command| match command {
            Command::If { otherwise, .. } => format!("if {otherwise}"),
            Command::Jump { target, .. } => format!("jump {target}"),
            _ => "sql".to_owned(),
        })
        .collect();
    assert_eq!(steps, ["if 3", "sql", "jump 7", "if 6", "sql", "jump 7", "sql", "sql"]);
    let lines: Vec<_> = script.commands.iter().map(Command::line).collect();
    assert_eq!(lines, [1, 2, 3, 3, 4, 5, 6, 8]);
}

#[test]
fn gset_belongs_to_the_sql_before_it() {
    let script = parse("select 1 as a \\gset\nselect 2 as b \\; select 3 as c \\aset p_\nselect 4;");
    assert_eq!(script.commands.len(), 3);
    assert_eq!(
        sql(&script, 0).capture(),
        Some(&Capture::Gset { prefix: String::new() })
    );
    assert_eq!(
        sql(&script, 1).capture(),
        Some(&Capture::Aset {
            prefix: "p_".to_owned()
        })
    );
    assert_eq!(sql(&script, 1).statements(), 2);
    assert_eq!(sql(&script, 2).capture(), None);
    for text in [
        "\\gset",
        "select 1;\n\\set x 1\n\\gset",
        "select 1 \\gset\n\\gset",
        "\\if 1\nselect 1;\n\\endif\n\\gset",
    ] {
        assert!(error(text).contains("must follow SQL"), "{text}");
    }
    assert_eq!(parse("select 1;\n\\\n\\gset").commands.len(), 1);
}

#[test]
fn every_mention_of_a_variable_is_a_parameter() {
    let mut names = Names::new();
    let text = "select :a, :a, ':b', :c::int, ::d, :missing, :1;";
    let script = Script::parse("test.sql", text, Protocol::Prepared, &mut names).unwrap();
    let mut variables = Variables::new(&names);
    variables.set_text(names.get("a").unwrap(), b"007");
    variables.set(names.get("b").unwrap(), Value::Null);
    variables.set(names.get("c").unwrap(), Value::Double(2.50));
    let sql = sql(&script, 0);
    assert_eq!(sql.prepared_text(), "select $1, $2, '$3', $4::int, ::d, $5, :1;");
    assert_eq!(sql.param_count(), 5);
    let mut parameters = Vec::new();
    sql.for_each_param(&variables, |text| {
        parameters.push(text.map(|text| String::from_utf8(text.to_vec()).unwrap()))
    });
    assert_eq!(
        parameters,
        [Some("007"), Some("007"), Some("NULL"), Some("2.5"), None].map(|text| text.map(str::to_owned))
    );
    let mut simple = Vec::new();
    sql.render_simple(&variables, &mut simple);
    assert_eq!(simple, b"select 007, 007, 'NULL', 2.5::int, ::d, :missing, :1;");
}

#[test]
fn sleeps_and_shells_read_variables_when_they_run() {
    let mut names = Names::new();
    let text = "\\sleep 2\n\\sleep 3ms\n\\sleep :t US\n\\setshell x echo :t ::t a:b\n\\shell :none";
    let script = Script::parse("test.sql", text, Protocol::Simple, &mut names).unwrap();
    let mut variables = Variables::new(&names);
    let microseconds = |index: usize, variables: &Variables| match &script.commands[index] {
        Command::Sleep { sleep, .. } => sleep.microseconds(variables),
        other => panic!("not a sleep: {other:?}"),
    };
    assert_eq!(microseconds(0, &variables), Ok(2_000_000));
    assert_eq!(microseconds(1, &variables), Ok(3_000));
    assert!(microseconds(2, &variables)
        .unwrap_err()
        .describe(&names, &variables)
        .ends_with("undefined variable \"t\""));
    variables.set(names.get("t").unwrap(), Value::Int(7));
    assert_eq!(microseconds(2, &variables), Ok(7));
    variables.set_text(names.get("t").unwrap(), b"soon");
    assert!(microseconds(2, &variables).is_err());
    let mut line = Vec::new();
    let (Command::SetShell { shell, .. }, Command::Shell { shell: bad, .. }) =
        (&script.commands[3], &script.commands[4])
    else {
        panic!("not shells");
    };
    shell.render(&variables, &mut line).unwrap();
    assert_eq!(line, b"echo soon :t a:b");
    assert!(bad.render(&variables, &mut line).is_err());
}

#[test]
fn a_text_is_typed_once_and_sent_as_it_was() {
    let mut names = Names::new();
    let script = Script::parse(
        "test.sql",
        "\\set y :x * 2\nselect :x, :y;",
        Protocol::Simple,
        &mut names,
    )
    .unwrap();
    let mut variables = Variables::new(&names);
    let [x, y] = ["x", "y"].map(|name| names.get(name).unwrap());
    variables.set_text(x, b"0x10");
    let Command::Set { slot, expr, .. } = &script.commands[0] else {
        panic!("not a set")
    };
    let value = expr.eval(&mut variables, &mut Prng::seeded(1)).unwrap();
    assert_eq!((*slot, value), (y, Value::Double(32.0)));
    variables.set(y, value);
    let mut out = Vec::new();
    sql(&script, 1).render_simple(&variables, &mut out);
    assert_eq!(out, b"select 0x10, 32;");
    variables.set_text(x, b"ten");
    let error = expr.eval(&mut variables, &mut Prng::seeded(1)).unwrap_err();
    assert!(error.describe(&names, &variables).ends_with("\"x\" value: \"ten\""));
}
