//! Removes secret values from a text that arrives in parts.

use super::outgoing::OutgoingGrant;

/// A text that arrives in parts and is passed on without secret values. The end of the text is kept back as long as it may be the beginning
/// of a value.
#[derive(Debug)]
pub struct CleanedText<'a> {
    outgoing: &'a OutgoingGrant,
    kept_back: String,
}

impl<'a> CleanedText<'a> {
    /// Creates an empty text.
    pub const fn new(outgoing: &'a OutgoingGrant) -> Self {
        Self { outgoing, kept_back: String::new() }
    }

    /// Adds the next part, and returns the text that can be passed on, which may be empty.
    pub fn push(&mut self, part: &str) -> String {
        self.kept_back.push_str(part);
        let mut text = self.outgoing.clean(std::mem::take(&mut self.kept_back));
        // A form begins with an ASCII character.
        let end = text.floor_char_boundary(self.outgoing.unfinished(&text));
        self.kept_back = text.split_off(end);
        text
    }

    /// Returns the rest after the last part.
    pub fn finish(self) -> String {
        self.kept_back
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use proptest::prelude::*;

    use super::super::http::Scheme;
    use super::super::outgoing::SecretValue;
    use super::super::reach::{SecretRule, SecretSource};
    use super::*;

    const VALUE: &str = "sk-s3cr3t\"va/lue";

    fn outgoing() -> OutgoingGrant {
        let rule = SecretRule {
            name: "KEY".to_owned(),
            from: SecretSource::Env("KEY".to_owned()),
            header: "authorization".to_owned(),
            host: "api.acme.com".to_owned(),
            schemes: vec![Scheme::Https],
        };
        OutgoingGrant { rules: Vec::new(), secrets: vec![SecretValue::new(&rule, VALUE.to_owned()).unwrap()] }
    }

    fn passed_on(parts: &[&str]) -> Vec<String> {
        let outgoing = outgoing();
        let mut text = CleanedText::new(&outgoing);
        let mut passed: Vec<_> = parts.iter().map(|part| text.push(part)).collect();
        passed.push(text.finish());
        passed
    }

    #[test]
    fn only_what_may_be_a_value_waits() {
        assert_eq!(passed_on(&["good ", "day. "]), ["good ", "day. ", ""]);
        assert_eq!(passed_on(&["it is s", "o"]), ["it is ", "so", ""]);
        assert_eq!(
            passed_on(&["the key sk-", "s3cr3t\"va/lu", "e."]),
            ["the key ", "", "{{secret:KEY}}.", ""]
        );
    }

    proptest! {
        /// Whatever the division of a text, the passed-on text contains no value.
        #[test]
        fn no_division_hides_a_value(
            before in "[a-zäs\\\\%]{0,6}",
            behind in "[a-zä]{0,6}",
            escaped: bool,
            cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..6),
        ) {
            let value = if escaped { VALUE.replace('"', "\\\"") } else { VALUE.to_owned() };
            let whole = format!("{before}{value}{behind}");
            let mut cuts: Vec<_> =
                cuts.iter().map(|cut| whole.floor_char_boundary(cut.index(whole.len()))).collect();
            cuts.sort_unstable();
            cuts.push(whole.len());
            let mut from = 0;
            let parts: Vec<_> = cuts.iter().map(|to| &whole[std::mem::replace(&mut from, *to)..*to]).collect();
            let passed = passed_on(&parts).concat();
            prop_assert!(!passed.contains(&value) && passed.contains("{{secret:KEY}}"), "{} {:?}", passed, parts);
        }
    }
}
