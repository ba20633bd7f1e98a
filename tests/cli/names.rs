//! Names of strangers in code and text that the host writes: any name stays one token for a parser of that language.

use std::process::Command;

use graph_core::diagnostic::{is_invisible, shell_quoted};

use crate::place::{Place, Ran};

/// Names that are code, markup or layout in some language. The last ones are invisible.
const HOSTILE: [&str; 34] = [
    "\"] ; evil [label=\"x",
    "\\\" ]; a -> evil",
    "b\\",
    "\\N\\G\\l",
    "<b>x</b>",
    "<script>alert(1)</script>",
    "</text></svg><script>x()</script>",
    "<![CDATA[x]]>",
    "<!-- x",
    "--> x",
    "<?xml x?>",
    "]]>",
    "&lt;&amp;&#60;&x;",
    "'\" onload='x()' x=\"",
    "javascript:alert(1)",
    "a|b\"] --> evil[x",
    "%%{init: {'theme':'dark'}}%%",
    "click n0 call x()",
    "#quot;#35;",
    "```",
    "~~~ js",
    "[x](javascript:x()) ![y](http://stranger.test/p.png)",
    "--- \ntitle: x",
    "a\nb",
    "a\r\nb\tc",
    "\u{1b}[2J\u{9b}1m",
    "$(touch x) `touch x` ${HOME}",
    "'; touch x; '",
    "a\u{2028}b\u{2029}c\u{85}d",
    "\u{202e}gnp.exe",
    "pay\u{e0041}\u{e0042}\u{ad}\u{34f}",
    "\u{3164}\u{115f}\u{2800}\u{ffa0}",
    "\u{fe0f}\u{e0100}\u{200d}\u{feff}\u{fffa}",
    "\u{180e}\u{17b4}\u{2063}\u{206f}\u{1d173}",
];

/// A script that parses two texts of a language, with Python's parsers of XML and HTML and small tokenizers of DOT and
/// Mermaid: both have to be equal except for the contents of labels.
const SKELETONS: &str = r#"
import re, sys, xml.etree.ElementTree as xml
language, *files = sys.argv[1:]
def svg(text):
    return [(e.tag, sorted(e.attrib)) for e in xml.fromstring(text).iter()]
def dot(text):
    tokens, at = [], 0
    token = re.compile(r'\s+|"(?:[^"\\]|\\.)*"|[A-Za-z_0-9.]+|->|[\[\]{};=,]')
    while at < len(text):
        found = token.match(text, at)
        assert found, text[at:at + 80]
        at = found.end()
        if not found[0].isspace(): tokens.append('""' if found[0][0] == '"' else found[0])
    return tokens
def mermaid(text):
    # Mermaid knows no escapes: a label ends at the next quote, and entities are `#name;` or `#number;`.
    for label in re.findall(r'"([^"]*)"', text):
        assert not re.search(r'[<>`\\%&;](?<!#\d;)(?<!#\d\d;)(?<!#\d\d\d;)', label.replace('<br/>', '')), label
    return re.sub(r'"[^"]*"', '""', text).splitlines()
one, other = ([globals()[language](open(file, encoding='utf-8', newline='').read())] for file in files)
assert one == other, (one, other)
"#;

/// A script that searches all pages below a folder for active elements and attributes, with Python's parser of HTML.
const PAGES: &str = r"
import pathlib, sys
from html.parser import HTMLParser
class Reader(HTMLParser):
    def handle_starttag(self, tag, attributes):
        assert tag not in ('iframe', 'object', 'embed', 'base', 'svg:script', 'foreignobject'), (tag, attributes)
        assert tag != 'script' or dict(attributes).get('src') or dict(attributes).get('type') == 'application/json', attributes
        for name, value in attributes:
            assert not name.startswith('on') and name != 'srcdoc', (tag, name, value)
            assert name not in ('href', 'src', 'action') or not (value or '').strip().lower().startswith(('javascript:', 'vbscript:')), value
            assert tag != 'img' or name != 'src' or not value.startswith('http'), value
    handle_startendtag = handle_starttag
    def handle_decl(self, text): assert text.lower() == 'doctype html', text
    def handle_pi(self, text): raise AssertionError(text)
    def unknown_decl(self, text): raise AssertionError(text)
pages = list(pathlib.Path(sys.argv[1]).rglob('*.html'))
assert pages
for page in pages:
    reader = Reader(); reader.feed(page.read_text(encoding='utf-8')); reader.close()
";

/// Checks that another parser finds nothing active in the pages below a folder.
pub(crate) fn check_pages(place: &Place, folder: &str) {
    python(PAGES, &[folder], place);
}

fn python(script: &str, args: &[&str], place: &Place) {
    let ran = Command::new("python3")
        .arg("-c")
        .arg(script)
        .args(args)
        .current_dir(place.path(""))
        .output()
        .unwrap();
    assert!(ran.status.success(), "{args:?}: {}", String::from_utf8_lossy(&ran.stderr));
}

/// Writes a text as a double-quoted scalar of YAML.
fn quoted(text: &str) -> String {
    let escaped = |c: char| match c {
        ' '..='~' if c != '"' && c != '\\' => c.to_string(),
        c => format!("\\U{:08x}", u32::from(c)),
    };
    format!("\"{}\"", text.chars().map(escaped).collect::<String>())
}

/// Makes a graph that has these texts in every place that a picture shows.
fn graph(texts: impl Iterator<Item = String>) -> String {
    let mut graph = "start: a\nnodes:\n  b: {}\n  a:\n    next:\n".to_owned();
    for text in texts {
        let text = quoted(&text);
        graph.push_str("      - { to: b, label: ");
        graph.push_str(&text);
        graph.push_str(", when: { path: state.x, op: eq, value: ");
        graph.push_str(&text);
        graph.push_str(" } }\n      - { to: b, when: { path: state.x, op: eq, value: ");
        graph.push_str(&text);
        graph.push_str(" } }\n");
    }
    graph.push_str("      - { to: [] }\n");
    graph
}

fn ok(ran: Ran) -> String {
    assert_eq!(ran.code, 0, "{}", ran.shown());
    ran.stdout
}

#[test]
fn pictures_are_built_alike_whatever_their_labels_are() {
    let place = Place::new();
    place.graph("hostile.yaml", &graph(HOSTILE.iter().map(|text| (*text).to_owned())));
    place.graph("plain.yaml", &graph((0..HOSTILE.len()).map(|at| format!("x{at}"))));
    for language in ["svg", "dot", "mermaid"] {
        for name in ["hostile", "plain"] {
            let drawn = ok(place.run(&["graph", "show", &format!("{name}.yaml"), "--format", language]));
            let unseen = drawn.chars().find(|c| is_invisible(*c) || (c.is_control() && *c != '\n'));
            assert_eq!(unseen, None, "{language} of {name}");
            place.write(&format!("{name}.{language}"), &drawn);
        }
        let files = [format!("hostile.{language}"), format!("plain.{language}")];
        python(SKELETONS, &[language, &files[0], &files[1]], &place);
    }
}

#[test]
fn words_of_command_lines_are_one_word_for_a_shell() {
    let words = HOSTILE
        .into_iter()
        .chain(["", "~root", "=ls", "~/x", "-x", "a b", "a\\'b", "!x", "{a,b}", "*", "?", "#x", "a=b"]);
    for name in words {
        let word = shell_quoted(name);
        assert!(
            !word.contains(['\n', '\r']) && !word.chars().any(|c| c.is_control() || is_invisible(c)),
            "{word:?}"
        );
        // `~/` is replaced by the home of a user.
        if name.starts_with("~/") {
            continue;
        }
        let script = format!("printf '%s\\0' {word}");
        let said = Command::new("bash").args(["-c", &script]).output().unwrap().stdout;
        let [said, rest @ ..] = &said.split(|byte| *byte == 0).collect::<Vec<_>>()[..] else {
            unreachable!()
        };
        assert_eq!(rest, [&b""[..]], "{name:?} is {word}");
        let shown = name.replace('\n', "\\n").replace('\t', "\\t");
        let shown: String = shown
            .chars()
            .map(|c| {
                if c.is_control() || is_invisible(c) {
                    format!("\\u{{{:x}}}", u32::from(c))
                } else {
                    c.to_string()
                }
            })
            .collect();
        assert_eq!(String::from_utf8_lossy(said), shown, "{word}");
    }
}

/// Returns the commands of graph-host about runs in an output, as a person would copy them.
fn shown_commands(ran: &Ran) -> Vec<String> {
    let text = format!("{}\n{}", ran.stdout, ran.stderr);
    let about_runs = ["graph-host resume ", "graph-host replay ", "graph-host runs "];
    let each = text.lines().flat_map(|line| {
        let begins = about_runs.iter().flat_map(|begin| line.match_indices(begin).map(|(at, _)| at));
        begins.collect::<Vec<_>>().into_iter().map(|at| {
            let command = &line[at..];
            let end = ["`", "; ", ", ", " and "].iter().filter_map(|end| command.find(end)).min();
            command[..end.unwrap_or(command.len())].to_owned()
        })
    });
    each.filter(|command| !command.contains(" import")).collect()
}

/// With `--project`, a command shows commands that find the project from the folder where it was typed.
#[test]
fn commands_that_are_shown_name_the_project_that_was_given() {
    let (stranger, place) = (Place::new(), Place::new());
    for one in [&stranger, &place] {
        one.graph("g.yaml", "start: a\nnodes: { a: { interrupt: before, assign: { x: 1 } } }");
        assert_eq!(one.run(&["keys", "rotate-host"]).code, 0);
    }
    assert_eq!(stranger.run(&["run", "g.yaml", "--run-id", "s"]).code, 6);
    assert_eq!(stranger.run(&["runs", "export", "s", "-o", "s.jsonl"]).code, 0);
    place.write("s.jsonl", &stranger.read("s.jsonl"));
    place.write("identity.pem", &stranger.read("home/identity.pem"));
    place.write("FILE", "dispatch: []\n");
    for folder in ["the project's/.ai", "elsewhere"] {
        std::fs::create_dir_all(place.path(folder)).unwrap();
    }
    let project = "../the project's";
    let at = |args: &[&str]| {
        let mut command = place.command(args);
        command.current_dir(place.path("elsewhere"));
        place.ran(&command.output().unwrap())
    };
    // A file of the typed command.
    std::fs::copy(place.path("FILE"), place.path("elsewhere/FILE")).unwrap();
    let mut typed = 0;
    for args in [
        &["run", "../g.yaml", "--run-id", "r"][..],
        &["runs", "import", "../s.jsonl"],
        &["runs", "import", "../s.jsonl", "--identity", "../identity.pem"],
        &["resume", "s"],
        &["replay", "s", "--live"],
        &["replay", "s", "--live", "--send"],
        &["resume", "r", "--trust", "none.yaml"],
        &["runs", "show", "r"],
        &["runs", "show", "r/9.9"],
        &["runs", "list", "--parent", "r/9.9"],
        &["runs", "verify", "s"],
        &["resume", "r"],
        &["resume", "r"],
        &["runs", "cancel", "r"],
        &["runs", "show", "nobody"],
        &["runs", "history", "nobody"],
    ] {
        let ran = at(&[args, &["--project", project]].concat());
        for command in shown_commands(&ran) {
            assert!(
                command.contains(" --project '../the project'\\''s'"),
                "{args:?}: {command}\n{}",
                ran.shown()
            );
            if command.contains("KEY=VALUE") || command.contains("ANSWER") || command.contains("CHECKPOINT") {
                continue;
            }
            let mut shell = Command::new("sh");
            let program = command.replacen("graph-host", env!("CARGO_BIN_EXE_graph-host"), 1);
            shell.args(["-c", &program]).current_dir(place.path("elsewhere")).envs(
                place
                    .command(&[])
                    .get_envs()
                    .filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned()))),
            );
            let told = place.ran(&shell.output().unwrap());
            let message = &told.stderr;
            assert!(
                !message.contains("there are no runs here") && !message.contains("unexpected argument"),
                "{command}: {}",
                told.shown()
            );
            typed += 1;
        }
    }
    assert!(typed > 4, "{typed}");
    // With `--json`, the help says the same.
    let ran = at(&["resume", "r", "--project", project, "--json"]);
    assert!(ran.stdout.contains("--project '../the project'"), "{}", ran.shown());
}
