//! Rules of agents about calls of items. They apply to everything below the agent.
//!
//! A rule is about an item. A name that an author gives to an item among an agent's tools is translated by those same tools: a name that
//! a model or a thread chooses later neither matches a rule nor escapes one.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::diagnostic::excerpt_up_to;
use crate::id::{ItemId, function_of, path_of, version_of};

/// Largest number of rules of one list, those translated from names included.
const MOST_RULES: usize = 1_000;
/// The most bytes of the patterns of one list.
const MOST_BYTES: usize = 64 << 10;
/// Longest reason, in characters, that a message gives for unreadable rules.
const LONGEST_REASON: usize = 200;
/// A pattern that covers every id, also literal ones in documents. It replaces unreadable rules.
const EVERYTHING: &str = "?*";

/// The outcome of a call. The strictest of several verdicts counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The call is performed.
    Allow,
    /// A person is asked about the call.
    Ask,
    /// The call is refused.
    Deny,
}

impl Verdict {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

/// The author of an item's id at the place where it is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdSource {
    /// The document of an item contains the id literally.
    Document,
    /// The id was chosen during the run: by a model, by a component, or by a template.
    Run,
}

/// A rule about calls of items.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    /// A pattern of ids: `*` matches any characters, `?` one character.
    tool: String,
    then: Verdict,
}

/// The item and the name of a tool among an agent's inputs.
#[derive(Deserialize)]
struct Tool {
    item: String,
    name: Option<String>,
}

/// The rules of one agent, in order: the first rule that covers a call applies, and a call that no rule covers is permitted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ItemRules {
    rules: Vec<Rule>,
    /// The reason why the rules cannot be read, in which case they deny everything.
    unreadable: Option<String>,
}

impl ItemRules {
    /// Reads the rules of an agent, and translates the names of its tools to their items. `None` if it has no rules. Unreadable rules deny
    /// everything.
    pub fn read(approvals: &Value, tools: &Value) -> Option<Self> {
        let unreadable = |why| Some(Self::denying_all(why));
        let too_many = || {
            format!(
                "they have more than {MOST_RULES} rules, those that names are translated to included, or more than {MOST_BYTES} \
                 bytes of patterns"
            )
        };
        if approvals.is_null() || approvals.as_array().is_some_and(Vec::is_empty) {
            return None;
        }
        let written = match Vec::<Rule>::deserialize(approvals) {
            Ok(written) if fits(&written) => written,
            Ok(_) => return unreadable(too_many()),
            Err(error) => return unreadable(excerpt_up_to(&error.to_string(), LONGEST_REASON)),
        };
        let tools = match Option::<Vec<Tool>>::deserialize(tools) {
            Ok(tools) => tools.unwrap_or_default(),
            Err(error) => {
                let reason = excerpt_up_to(&error.to_string(), LONGEST_REASON);
                return unreadable(format!("the tools that they name cannot be read: {reason}"));
            }
        };
        if tools.len() > MOST_RULES {
            return unreadable(format!("there are more than {MOST_RULES} tools that they may name"));
        }
        let tools: Vec<(String, String)> = tools.into_iter().map(Tool::named).collect();
        let mut rules = Vec::new();
        for rule in written {
            rules.extend(translated(rule, &tools));
            if !fits(&rules) {
                return unreadable(too_many());
            }
        }
        Some(Self { rules, unreadable: None })
    }

    /// Returns the reason why the rules cannot be read, if so; they then deny every call.
    pub fn unreadable(&self) -> Option<&str> {
        self.unreadable.as_deref()
    }

    /// Creates the rules that replace unreadable ones: everything is denied, for the reason `why`.
    pub fn denying_all(why: String) -> Self {
        let rules = vec![Rule { tool: EVERYTHING.to_owned(), then: Verdict::Deny }];
        Self { rules, unreadable: Some(why) }
    }

    /// Returns the rules in the form in which a child agent reads them.
    pub fn to_value(&self) -> Value {
        self.rules.iter().map(|rule| json!({ "tool": rule.tool, "then": rule.then.as_str() })).collect()
    }

    /// Returns the verdict on a call of an item. A rule for every tool, `*`, does not apply to the literal ids in documents: these belong
    /// to the permitted graph.
    pub fn verdict(&self, item: &str, source: IdSource) -> Verdict {
        match self.rules.iter().find(|rule| rule.covers(item)) {
            Some(rule) if source == IdSource::Document && rule.is_for_all() => Verdict::Allow,
            Some(rule) => rule.then,
            None => Verdict::Allow,
        }
    }

    /// Estimates the steps of work for checking one call.
    pub fn work(&self) -> u64 {
        self.rules
            .iter()
            .map(|rule| rule.tool.len() as u64)
            .fold(self.rules.len() as u64, u64::saturating_add)
    }
}

fn fits(rules: &[Rule]) -> bool {
    rules.len() <= MOST_RULES && rules.iter().map(|rule| rule.tool.len()).sum::<usize>() <= MOST_BYTES
}

impl Tool {
    /// Returns the tool's name and its item. The name defaults to the id with `_` for `/`.
    fn named(self) -> (String, String) {
        (self.name.unwrap_or_else(|| self.item.replace('/', "_")), self.item)
    }
}

/// Translates a rule to rules about items. A rule that allows calls by the name of a tool allows only that tool's item; the others keep
/// their pattern as well.
fn translated(rule: Rule, tools: &[(String, String)]) -> Vec<Rule> {
    if rule.is_for_all() {
        return vec![rule];
    }
    let named =
        tools.iter().filter(|(name, item)| matches(&rule.tool, name, false) && ItemId::parse(item).is_ok());
    let mut rules: Vec<Rule> = named
        .map(|(_, item)| match rule.then {
            // A refusal of one version applies to all versions.
            Verdict::Ask | Verdict::Deny => path_of(item).to_owned(),
            Verdict::Allow => item.clone(),
        })
        .map(|tool| Rule { tool, then: rule.then })
        .collect();
    if rules.is_empty() || rule.then != Verdict::Allow {
        rules.push(rule);
    }
    rules
}

impl Rule {
    /// Checks whether the rule is for every tool.
    fn is_for_all(&self) -> bool {
        !self.tool.is_empty() && self.tool.bytes().all(|byte| byte == b'*')
    }

    /// Checks whether the rule applies to an item, in any version and with any function. A rule with a function applies to that function
    /// only; a rule with a version that allows it, to that version only. Refusals ignore upper and lower case, as some file systems do.
    fn covers(&self, item: &str) -> bool {
        let is_strict = self.then != Verdict::Allow;
        if self.is_for_all() {
            return true;
        }
        matches(path_of(&self.tool), path_of(item), is_strict)
            && version_of(&self.tool).is_none_or(|version| {
                is_strict || matches(version, version_of(item).unwrap_or_default(), false)
            })
            && function_of(&self.tool).is_none_or(|function| {
                function_of(item).is_some_and(|called| matches(function, called, is_strict))
            })
    }
}

/// Checks whether a pattern matches a whole text, upper and lower case alike if `folded`.
fn matches(pattern: &str, text: &str, folded: bool) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) = (pattern.chars().collect(), text.chars().collect());
    let same = |one: char, other: char| one == other || folded && one.eq_ignore_ascii_case(&other);
    let (mut at, mut from) = (0, 0);
    // Position of the last `*`, and the length of the text that it has matched.
    let mut star = None;
    while from < text.len() {
        match pattern.get(at) {
            Some('*') => {
                star = Some((at, from));
                at += 1;
            }
            Some(one) if *one == '?' || same(*one, text[from]) => {
                at += 1;
                from += 1;
            }
            _ => match &mut star {
                Some((of, taken)) => {
                    *taken += 1;
                    (at, from) = (*of + 1, *taken);
                }
                None => return false,
            },
        }
    }
    pattern[at..].iter().all(|one| *one == '*')
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn rules(approvals: &Value) -> ItemRules {
        let tools = json!([
            { "item": "acme/delete", "name": "delete" },
            { "item": "acme/search@1.0.0", "name": "search" },
            { "item": "acme/list" },
        ]);
        ItemRules::read(approvals, &tools).unwrap()
    }

    fn chosen(approvals: &Value, item: &str) -> Verdict {
        rules(approvals).verdict(item, IdSource::Run)
    }

    #[test]
    fn a_name_stands_for_the_item_of_the_author() {
        for (tool, item) in [
            ("delete", "acme/delete"),
            ("delete", "acme/delete@1.0.0"),
            ("delete", "acme/delete@9.9.9-rc+1#f"),
            ("delete", "acme/delete#acme:math/ops/add"),
            ("delete", "Acme/DELETE"),
            ("d?let*", "acme/delete@2"),
            ("acme_list", "acme/list"),
            ("search", "acme/search@2.0.0"),
            ("acme/delete", "acme/delete@1.0.0"),
            ("acme/delete@1.0.0", "acme/delete"),
            ("acme/delete@1.0.0", "acme/delete@2.0.0"),
            ("acme/*", "acme/other/one@1#f"),
            ("acme/lib#add", "acme/lib@2#add"),
            ("*", "x"),
        ] {
            for (then, verdict) in [("deny", Verdict::Deny), ("ask", Verdict::Ask)] {
                let approvals = json!([{ "tool": tool, "then": then }, { "tool": "*", "then": "allow" }]);
                assert_eq!(chosen(&approvals, item), verdict, "{tool} {item}");
            }
        }
        for (tool, item) in
            [("delete", "other/delete"), ("acme/delete", "acme/deleted"), ("acme/lib#add", "acme/lib")]
        {
            assert_eq!(
                chosen(&json!([{ "tool": tool, "then": "deny" }]), item),
                Verdict::Allow,
                "{tool} {item}"
            );
        }
    }

    #[test]
    fn what_a_name_allows_is_the_item_of_the_author_alone() {
        let verdict = |tool: &str, item: &str| {
            chosen(&json!([{ "tool": tool, "then": "allow" }, { "tool": "*", "then": "ask" }]), item)
        };
        for (tool, item) in [
            ("delete", "acme/delete"),
            ("delete", "acme/delete@1"),
            ("acme/list", "acme/list@3"),
            ("search", "acme/search@1.0.0"),
            ("acme/*", "acme/new"),
        ] {
            assert_eq!(verdict(tool, item), Verdict::Allow, "{tool} {item}");
        }
        for (tool, item) in [
            // Items whose id equals the name, or in which the pattern occurs.
            ("delete", "delete"),
            ("search", "search"),
            ("s*", "secret/send"),
            ("d*", "dangerous/delete"),
            // Other versions than the named one, and another spelling.
            ("search", "acme/search"),
            ("search", "acme/search@1.0.1"),
            ("acme/list", "Acme/List"),
            ("acme/lib#add", "acme/lib#sub"),
        ] {
            assert_eq!(verdict(tool, item), Verdict::Ask, "{tool} {item}");
        }
    }

    #[test]
    fn a_rule_for_every_tool_leaves_what_documents_write_out() {
        let list =
            rules(&json!([{ "tool": "acme/search", "then": "allow" }, { "tool": "*", "then": "deny" }]));
        assert_eq!(list.verdict("acme/index", IdSource::Document), Verdict::Allow);
        assert_eq!(list.verdict("acme/index", IdSource::Run), Verdict::Deny);
        let list = rules(&json!([{ "tool": "acme/*", "then": "ask" }, { "tool": "?*", "then": "deny" }]));
        assert_eq!(list.verdict("acme/index", IdSource::Document), Verdict::Ask);
        assert_eq!(list.verdict("other/index", IdSource::Document), Verdict::Deny);
    }

    #[test]
    fn what_cannot_be_read_denies_everything() {
        let long = vec![json!({ "tool": "a".repeat(100), "then": "allow" }); 700];
        let many = vec![json!({ "tool": "a", "then": "allow" }); MOST_RULES + 1];
        for approvals in [
            json!("allow"),
            json!([{ "tool": "*" }]),
            json!([{ "tool": "*", "then": "maybe" }]),
            json!([{ "tool": "*", "then": "allow", "more": 1 }]),
            json!({ "tool": "*", "then": "allow" }),
            json!(long),
            json!(many),
        ] {
            for source in [IdSource::Document, IdSource::Run] {
                assert_eq!(rules(&approvals).verdict("acme/x", source), Verdict::Deny);
            }
            assert!(rules(&approvals).unreadable().is_some(), "{approvals}");
        }
        let allow = json!([{ "tool": "*", "then": "allow" }]);
        assert_eq!(rules(&allow).unreadable(), None);
        let tools = vec![json!({ "item": "a/b" }); MOST_RULES + 1];
        for tools in [json!("x"), json!([{ "name": "x" }]), json!(tools)] {
            let read = ItemRules::read(&allow, &tools).unwrap();
            assert_eq!(read.verdict("a", IdSource::Run), Verdict::Deny);
            assert!(read.unreadable().is_some_and(|why| why.contains("tools")), "{read:?}");
        }
        let maybe = rules(&json!([{ "tool": "*", "then": "maybe" }]));
        assert!(maybe.unreadable().is_some_and(|why| why.contains("unknown variant `maybe`")), "{maybe:?}");
        let long = rules(&json!([{ "tool": "*", "then": "x".repeat(10_000) }]));
        assert!(long.unreadable().is_some_and(|why| why.len() < 1_000), "{long:?}");
        assert_eq!(ItemRules::read(&json!(null), &json!(null)), None);
        assert_eq!(ItemRules::read(&json!([]), &json!([])), None);
    }
}
