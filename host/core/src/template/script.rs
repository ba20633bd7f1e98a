//! Templates in the text of a shell script.

use serde_json::Value;

use super::expression::{self, Alternative, Expression, Term};

/// Roots whose values are mappings. They are useless as text of a script, and a shell may have variables of these names.
const MAPPINGS: [&str; 4] = ["state", "inputs", "node", "run"];

/// A template in the text of a shell script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScriptTemplate<'t> {
    /// The template as written, with `${` and `}`.
    pub written: &'t str,
    /// `true` if the template was probably meant for the shell, as `${1}` and `${run}`: its value is a constant, or a mapping.
    pub is_parameter: bool,
}

/// Returns the templates in the text of a shell script. A template that is the whole script is left out, since there is no other way to run
/// a computed script.
#[must_use]
pub fn script_templates(script: &str) -> Vec<ScriptTemplate<'_>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(dollar) = script[at..].find('$') {
        at += dollar;
        let left = &script[at..];
        if left.starts_with("$${") {
            at += 3;
        } else if let Some((expression, length)) =
            left.strip_prefix("${").and_then(|inside| expression::parse(inside).ok())
        {
            let written = &left[..2 + length];
            found.push(ScriptTemplate { written, is_parameter: is_parameter(&expression) });
            at += written.len();
        } else {
            at += 1;
        }
    }
    found.retain(|template| template.is_parameter || template.written.len() < script.trim().len());
    found
}

fn is_parameter(expression: &Expression) -> bool {
    let [Alternative { term, pipes }] = expression.alternatives.as_slice() else { return false };
    pipes.is_empty()
        && match term {
            Term::Literal(value) => !matches!(value, Value::String(_)),
            Term::Path(path) => path.segments().is_empty() && MAPPINGS.contains(&path.root()),
        }
}

#[cfg(test)]
mod tests {
    use super::script_templates;

    #[test]
    fn what_was_meant_for_the_shell_is_told_from_values_of_the_run() {
        let script = "a ${1} $1 $${2} $$${3} ${run} ${ state } ${inputs.x} ${file} ${node.name || 'n'} ${state | json} ${true} ${[]}";
        let found: Vec<_> =
            script_templates(script).iter().map(|found| (found.written, found.is_parameter)).collect();
        assert_eq!(
            found,
            [
                ("${1}", true),
                ("${run}", true),
                ("${ state }", true),
                ("${inputs.x}", false),
                ("${file}", false),
                ("${node.name || 'n'}", false),
                ("${state | json}", false),
                ("${true}", true),
                ("${[]}", true),
            ]
        );
        assert!(script_templates(" ${inputs.script}\n").is_empty());
        assert_eq!(script_templates("${run}").len(), 1);
        assert!(script_templates("echo ${unclosed").is_empty());
    }
}
