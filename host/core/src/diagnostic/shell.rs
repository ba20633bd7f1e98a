//! Words of command lines in messages.

use super::visible;

/// Returns an argument for a command line, quoted if a shell would split or interpret it, on one line. Characters that cannot be typed are
/// escaped.
///
/// ```
/// assert_eq!(graph_core::diagnostic::shell_quoted("it's; rm x"), "'it'\\''s; rm x'");
/// ```
pub fn shell_quoted(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "_-./@:+=,~".contains(c);
    // A shell replaces `~` at the beginning and, in a word like an assignment, after `=` and `:`; zsh also a leading `=`.
    // A CI system interprets a line that begins with `::` as a command.
    let is_expanded = text.starts_with('=')
        || text.starts_with("::")
        || (text.starts_with('~') && !text.starts_with("~/"))
        || text.contains("=~")
        || text.contains(":~");
    let text = visible(text).replace('\n', "\\n").replace('\t', "\\t");
    if !text.is_empty() && !is_expanded && text.chars().all(plain) {
        text
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

/// Returns a path for a command line, quoted like [`shell_quoted`]. `./` precedes a path that begins with `-`, so that it is not an option.
///
/// ```
/// assert_eq!(graph_core::diagnostic::shell_path("--caps=x.yaml"), "./--caps=x.yaml");
/// ```
pub fn shell_path(path: &str) -> String {
    if path.starts_with('-') { shell_quoted(&format!("./{path}")) } else { shell_quoted(path) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_a_shell_needs_it() {
        for (text, quoted) in [
            ("examples/a b.yaml", "'examples/a b.yaml'"),
            ("examples/größe.yaml", "examples/größe.yaml"),
            ("~/a.yaml", "~/a.yaml"),
            ("~root/a.yaml", "'~root/a.yaml'"),
            ("=ls", "'=ls'"),
            ("a=~/x", "'a=~/x'"),
            ("a=x:~root", "'a=x:~root'"),
            ("::error::x", "'::error::x'"),
            ("", "''"),
            ("a\nb\tc", r"'a\nb\tc'"),
            ("a\u{202e}\u{e0041}b", r"'a\u{202e}\u{e0041}b'"),
            ("'$(x)`y`", r"''\''$(x)`y`'"),
        ] {
            assert_eq!(shell_quoted(text), quoted);
        }
    }
}
