//! Properties that hold for every script, not only for those that someone thought of.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

mod interpreter;

use std::collections::HashSet;

use pgclinic_load::script::{Command, Expr, Names, Prng, Protocol, Script, Variables};
use proptest::prelude::*;

/// Pieces that mean something to the splitter and to the meta commands.
fn fragment() -> impl Strategy<Value = String> {
    let known = prop::sample::select(vec![
        "'",
        "\"",
        "$$",
        "$a$",
        "e'",
        "\\'",
        ";",
        "\\;",
        "\\:",
        ":a",
        "::a",
        "--",
        "/*",
        "*/",
        "(",
        ")",
        "\n",
        " ",
        "\\\n",
        "\\set a 1\n",
        "\\set b ",
        "\\if 1\n",
        "\\elif 0\n",
        "\\else\n",
        "\\endif\n",
        "\\gset\n",
        "\\sleep 1 us\n",
        "\\shell x",
        "create function",
        " begin atomic ",
        "case",
        "end",
        "é",
        "1e",
        "9223372036854775808",
        "random(",
        ":{?a}",
        "\0",
        "\r\n",
    ]);
    prop_oneof![4 => known.prop_map(str::to_owned), 1 => any::<String>()]
}

fn soup() -> impl Strategy<Value = String> {
    prop::collection::vec(fragment(), 0..30).prop_map(|fragments| fragments.concat())
}

fn expression() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        any::<i64>().prop_map(|number| number.to_string()),
        (0.0..1e300f64).prop_map(|number| format!("{number:?}")),
        prop::sample::select(vec![
            "null",
            "true",
            "FALSE",
            ":a",
            ":b",
            ":default_seed",
            "pi()",
            ".5",
            "7"
        ])
        .prop_map(str::to_owned),
    ];
    leaf.prop_recursive(5, 40, 3, |inner| {
        let infix = prop::sample::select(vec![
            "+", "-", "*", "/", "%", "<", "<=", ">", ">=", "=", "<>", "!=", "and", "OR", "|", "#", "&", "<<", ">>",
        ]);
        let prefix = prop::sample::select(vec!["-", "+", "~", "not "]);
        let postfix = prop::sample::select(vec![" is null", " is not true", " isnull", " notnull", " is false"]);
        let name = prop::sample::select(vec!["abs", "int", "hash", "least", "debug", "sqrt", "hash_fnv1a"]);
        prop_oneof![
            (inner.clone(), infix, inner.clone()).prop_map(|(left, op, right)| format!("({left}) {op} {right}")),
            (prefix, inner.clone()).prop_map(|(op, operand)| format!("{op}({operand})")),
            (inner.clone(), postfix).prop_map(|(operand, op)| format!("({operand}){op}")),
            (name, inner.clone()).prop_map(|(name, argument)| format!("{name}({argument})")),
            (inner.clone(), inner.clone(), inner)
                .prop_map(|(when, then, other)| format!("case when {when} then {then} else {other} end")),
        ]
    })
}

fn parse_expression(text: &str, names: &mut Names) -> Option<Expr> {
    let script = Script::parse("set.sql", &format!("\\set x {text}"), Protocol::Simple, names).ok()?;
    match script.commands.into_iter().next()? {
        Command::Set { expr, .. } => Some(expr),
        other => panic!("not a set: {other:?}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn no_text_makes_the_parser_panic(text in soup()) {
        for protocol in [Protocol::Simple, Protocol::Prepared] {
            if let Err(error) = Script::parse("soup.sql", &text, protocol, &mut Names::new()) {
                prop_assert!(error.line >= 1 && error.column >= 1);
            }
        }
    }

    #[test]
    fn jumps_stay_inside_the_script(text in soup()) {
        if let Ok(script) = Script::parse("soup.sql", &text, Protocol::Simple, &mut Names::new()) {
            for (index, command) in script.commands.iter().enumerate() {
                if let Command::If { otherwise: place, .. } | Command::Jump { target: place, .. } = command {
                    prop_assert!(*place > index && *place <= script.commands.len());
                }
            }
        }
    }

    #[test]
    fn a_printed_expression_means_the_same(text in expression()) {
        let mut names = Names::new();
        if let Some(expr) = parse_expression(&text, &mut names) {
            let printed = expr.display(&names).to_string();
            prop_assert_eq!(parse_expression(&printed, &mut names), Some(expr), "{}", printed);
        }
    }

    #[test]
    fn evaluation_never_panics(text in expression(), seed in any::<u64>(), a in "[-0-9a-z.]{0,8}") {
        let mut names = Names::new();
        names.intern("a");
        if let Some(expr) = parse_expression(&text, &mut names) {
            let mut variables = Variables::new(&names);
            variables.set_text(names.get("a").unwrap(), a.as_bytes());
            let mut prng = Prng::seeded(seed);
            let first = expr.eval(&mut variables, &mut prng);
            let again = expr.eval(&mut variables, &mut Prng::seeded(seed));
            prop_assert_eq!(format!("{first:?}"), format!("{again:?}"));
        }
    }

    #[test]
    fn permute_is_a_permutation(size in 1i64..300, seed in any::<i64>()) {
        let line = |value| format!("\\set x debug(permute({value}, {size}, {seed}))\n");
        let text: String = (0..size).map(line).collect();
        let places: HashSet<String> = interpreter::run("permute.sql", &text).unwrap().debug.into_iter().collect();
        let wanted: HashSet<String> = (0..size).map(|place| format!("int {place}")).collect();
        prop_assert_eq!(places, wanted);
    }

    #[test]
    fn random_numbers_stay_in_their_bounds(seed in any::<u64>(), low in any::<i32>(), width in 0i64..1_000_000_000) {
        let (low, high) = (i64::from(low), i64::from(low) + width);
        let mut prng = Prng::seeded(seed);
        for number in [
            prng.uniform(low, high),
            prng.gaussian(low, high, 2.0).unwrap(),
            prng.exponential(low, high, 0.5).unwrap(),
            prng.zipfian(low, high, 1.5).unwrap(),
        ] {
            prop_assert!((low..=high).contains(&number));
        }
        prop_assert!((0.0..1.0).contains(&prng.double()));
    }

    #[test]
    fn sql_without_variables_is_sent_as_it_is(text in "[a-z0-9 ,()'\n]{0,40}") {
        let sql = format!("select {text}");
        if let Ok(script) = Script::parse("plain.sql", &sql, Protocol::Prepared, &mut Names::new()) {
            let Command::Sql(command) = &script.commands[0] else { panic!("not SQL") };
            let mut out = Vec::new();
            command.render_simple(&Variables::new(&Names::new()), &mut out);
            prop_assert_eq!(out, sql.as_bytes());
            prop_assert_eq!(command.prepared_text(), sql);
        }
    }
}
