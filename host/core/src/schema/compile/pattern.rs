//! Translation of JSON Schema patterns, which are ECMAScript's, to the syntax of the `regex` crate.

/// The characters of ECMAScript's `\s`, as the inside of a class.
const SPACE: &str =
    r"\t\n\x0B\x0C\r \u{a0}\u{1680}\u{2000}-\u{200a}\u{2028}\u{2029}\u{202f}\u{205f}\u{3000}\u{feff}";

/// Translates the parts of a pattern that both syntaxes have with different meanings: `\d`, `\w` and `\s` match ASCII digits, ASCII letters
/// and ECMAScript's spaces, `\cA` is a control character, and within a class `[`, `&&`, `--` and `~~` are plain characters. The rest is
/// unchanged; unsupported syntax, such as look-around, is refused when the pattern is compiled.
pub(super) fn translated(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len() + 16);
    let mut chars = pattern.chars().peekable();
    let mut class = Class::Outside;
    while let Some(c) = chars.next() {
        let was = class;
        match (c, class) {
            ('\\', _) => {
                let next = chars.next();
                let control = chars.peek().filter(|c| next == Some('c') && c.is_ascii_alphabetic()).copied();
                if let Some(letter) = control {
                    chars.next();
                    out.push_str("\\x");
                    out.extend(char::from_digit(u32::from(letter) % 32 / 16, 16));
                    out.extend(char::from_digit(u32::from(letter) % 16, 16));
                } else {
                    escape(next, &mut out);
                }
                if class != Class::Outside {
                    let is_class = matches!(next, Some('d' | 'D' | 'w' | 'W' | 's' | 'S' | 'p' | 'P'));
                    class = if is_class { Class::Escaped } else { Class::Inside };
                }
                // The name of a Unicode class is not a list of characters.
                if matches!(next, Some('p' | 'P')) && chars.peek() == Some(&'{') {
                    for c in chars.by_ref() {
                        out.push(c);
                        if c == '}' {
                            break;
                        }
                    }
                }
            }
            ('[', Class::Outside) => {
                out.push('[');
                class = Class::Start;
            }
            ('^', Class::Start) => out.push('^'),
            (_, Class::Outside) => out.push(c),
            (']', _) => {
                out.push(']');
                class = Class::Outside;
            }
            ('[', _) => {
                out.push_str("\\[");
                class = Class::Inside;
            }
            ('-', Class::Escaped) => {
                // No range begins with a class.
                out.push_str("\\-");
                class = Class::Inside;
            }
            ('-', _) if chars.peek() == Some(&'-') => {
                // `a--` is the range from `a` to `-` if something comes before it, or else characters.
                out.push_str(if was == Class::Start { "\\-" } else { "-\\-" });
                if was != Class::Start {
                    chars.next();
                }
                class = Class::Inside;
            }
            ('&' | '~', _) if chars.peek() == Some(&c) => {
                out.push('\\');
                out.push(c);
                class = Class::Inside;
            }
            _ => {
                out.push(c);
                class = Class::Inside;
            }
        }
    }
    out
}

/// The position in a class of characters, such as `[a-z]`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Outside,
    /// Right after `[` or `[^`.
    Start,
    Inside,
    /// Right after a class within the class, such as `\w`.
    Escaped,
}

fn escape(escaped: Option<char>, out: &mut String) {
    match escaped {
        Some('d') => out.push_str("[0-9]"),
        Some('D') => out.push_str("[^0-9]"),
        Some('w') => out.push_str("[A-Za-z0-9_]"),
        Some('W') => out.push_str("[^A-Za-z0-9_]"),
        Some(c @ ('s' | 'S')) => {
            out.push_str(if c == 's' { "[" } else { "[^" });
            out.push_str(SPACE);
            out.push(']');
        }
        Some(other) => {
            out.push('\\');
            out.push(other);
        }
        None => out.push('\\'),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn classes_have_their_meaning_in_ecmascript() {
        for (pattern, fits, unfit) in [
            (r"^\d+$", "123", "١٢"),
            (r"^\w$", "a", "é"),
            (r"^\W$", "é", "_"),
            (r"^\s$", "\u{feff}", "a"),
            (r"^[\w-.]+$", "a-.b", "a+b"),
            (r"^[^\s\d]+$", "ab", "a b"),
            (r"^[[a]+$", "[a", "b"),
            (r"^[a&&b]+$", "a&b", "c"),
            (r"^[!--]+$", "+-", "."),
            (r"^[\w--z]+$", "a-z", "+"),
            (r"^\cA$", "\u{1}", "A"),
            (r"^\p{Letter}+$", "é", "1"),
            (r"^[\p{L}-]+$", "é-", "1"),
            (r"^a\/b$", "a/b", "ab"),
            (r"^\u0041$", "A", "B"),
            (r"^[a-z&]$", "&", "A"),
        ] {
            let regex = regex::Regex::new(&translated(pattern)).unwrap();
            assert!(regex.is_match(fits) && !regex.is_match(unfit), "{pattern}: {}", translated(pattern));
        }
    }
}
