//! `http` of a case: answers to the HTTP requests of real components. Requests of a case are not sent, unless answers
//! are recorded.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Mutex, MutexGuard, PoisonError};

use graph_core::diagnostic::{Problems, one_line};
use graph_core::json::{self, TreeLimit};
use graph_core::yaml::{self, Fields, Node, Yaml};
use graph_runtime::graph_engine::{DoubledAnswer, HttpAnswer, HttpDoubles, HttpRequest};
use serde_json::{Map, Value, json};

use crate::keys;

/// Maximum number of characters that a message shows of a request.
const SHOWN: usize = 200;

/// A request, and the answer to it.
#[derive(Clone, Debug, PartialEq)]
pub struct HttpDouble {
    /// Method of the request; `None` for any.
    pub method: Option<String>,
    /// URL of the request. A port that is the scheme's default may be left out.
    pub url: String,
    /// Expected body: a text, or a JSON value; `None` for any body.
    pub body: Option<Value>,
    /// Maximum number of requests that it answers; `None` for any number.
    pub times: Option<u64>,
    /// Answer that the component receives. No connection is made.
    pub answer: HttpAnswer,
}

/// Reads `http: [{request, answer, times}]`.
pub(crate) fn read(node: &Node, problems: &Problems) -> Vec<HttpDouble> {
    let doubles = node.list("`http`", problems).into_iter().flatten();
    doubles.filter_map(|double| read_one(double, problems)).collect()
}

fn read_one(node: &Node, problems: &Problems) -> Option<HttpDouble> {
    let mut fields = Fields::open(node, &keys::HTTP, "an answer under `http`", problems)?;
    let request = fields.required("request");
    let answer = fields.required("answer");
    let times = fields.u64("times", 1..=u64::MAX);
    fields.finish();
    let mut request = Fields::open(request?, &keys::REQUEST, "`request`", problems)?;
    let method = request.text("method").map(str::to_ascii_uppercase);
    let url = request.required("url").and_then(|node| node.text("`url`", problems)).map(str::to_owned);
    let body = request.get("body").map(Node::to_json);
    request.finish();
    let answer = read_answer(answer?, problems);
    Some(HttpDouble { method, url: url?, body, times, answer: answer? })
}

/// Reads `{status, headers, body}`. A body that is a text is sent unchanged; any other value is sent as JSON.
fn read_answer(node: &Node, problems: &Problems) -> Option<HttpAnswer> {
    let mut fields = Fields::open(node, &keys::ANSWER, "`answer`", problems)?;
    let status = fields.u64("status", 100..=999).unwrap_or(200);
    let headers = fields.filled("headers").and_then(|node| node.mapping("`headers`", problems));
    let mut heads = Vec::new();
    for entry in headers.into_iter().flatten() {
        let value = entry.value.text("a header", problems)?;
        heads.push((entry.key.name.to_ascii_lowercase(), value.as_bytes().to_vec()));
    }
    let body = fields.get("body");
    fields.finish();
    let is_json = body.is_some_and(|body| !matches!(body.value, Yaml::Text(_)));
    if is_json && !heads.iter().any(|(name, _)| name == "content-type") {
        heads.push(("content-type".to_owned(), b"application/json".to_vec()));
    }
    let body = match body {
        None => Vec::new(),
        Some(Node { value: Yaml::Text(text), .. }) => text.value.as_bytes().to_vec(),
        Some(body) => body.to_json().to_string().into_bytes(),
    };
    Some(HttpAnswer { status: u16::try_from(status).ok()?, fields: heads, body })
}

impl HttpDouble {
    fn fits(&self, request: &HttpRequest) -> bool {
        self.method.as_ref().is_none_or(|method| *method == request.method)
            && with_port(&self.url) == request.url
            && self.body.as_ref().is_none_or(|body| match body {
                Value::String(text) => text.as_bytes() == request.body,
                body => json::read::<Value>(&request.body, TreeLimit::VALUE).is_ok_and(|sent| sent == *body),
            })
    }
}

/// Returns a URL with its port, and with at least the path `/`, as requests have it.
fn with_port(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else { return url.to_owned() };
    let at = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(at);
    let has_port =
        authority.rsplit_once(':').is_some_and(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()));
    let port = match scheme {
        _ if has_port => "",
        "https" => ":443",
        _ => ":80",
    };
    let slash = if path.starts_with('/') { "" } else { "/" };
    format!("{scheme}://{authority}{port}{slash}{path}")
}

/// Answers to the requests of one run of a case.
#[derive(Debug)]
pub(crate) struct CaseServers {
    doubles: Vec<HttpDouble>,
    /// Number of times that each answer was used.
    used: Mutex<Vec<u64>>,
    /// Requests that were sent, with their answers; `None` unless answers are recorded.
    recorded: Option<Mutex<Vec<(HttpRequest, HttpAnswer)>>>,
}

impl CaseServers {
    pub(crate) fn new(doubles: &[HttpDouble], records: bool) -> Self {
        Self {
            doubles: doubles.to_vec(),
            used: Mutex::new(vec![0; doubles.len()]),
            recorded: records.then(Mutex::default),
        }
    }

    /// Returns the recorded answers, as entries of `http`.
    pub(crate) fn recorded(&self) -> Vec<Value> {
        let Some(recorded) = &self.recorded else { return Vec::new() };
        lock(recorded).iter().map(|(request, answer)| double_of(request, answer)).collect()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl HttpDoubles for CaseServers {
    fn answer(&self, request: &HttpRequest) -> DoubledAnswer {
        let mut used = lock(&self.used);
        for (double, used) in self.doubles.iter().zip(used.iter_mut()) {
            if double.fits(request) && double.times.is_none_or(|times| *used < times) {
                *used += 1;
                return DoubledAnswer::Answer(double.answer.clone());
            }
        }
        if self.recorded.is_some() {
            return DoubledAnswer::Send;
        }
        let mut message =
            format!("no answer under `http` of the case is for {} {}", request.method, request.url);
        if !request.body.is_empty() {
            let _ = write!(message, " with the body {}", String::from_utf8_lossy(&request.body));
        }
        let message = one_line(&message, SHOWN);
        DoubledAnswer::Missing(format!("{message}; add one, or have the answers of the servers recorded"))
    }

    fn sent(&self, request: &HttpRequest, answer: &HttpAnswer) {
        if let Some(recorded) = &self.recorded {
            lock(recorded).push((request.clone(), answer.clone()));
        }
    }
}

/// Returns a recorded answer, as an entry of `http`. Headers that differ in each recording and have no effect are left
/// out.
fn double_of(request: &HttpRequest, answer: &HttpAnswer) -> Value {
    const LEFT_OUT: [&str; 5] = ["date", "connection", "content-length", "transfer-encoding", "keep-alive"];
    let mut asked = Map::new();
    asked.insert("method".to_owned(), json!(request.method));
    asked.insert("url".to_owned(), json!(request.url));
    if !request.body.is_empty() {
        asked.insert("body".to_owned(), body(&request.body));
    }
    let kept = answer.fields.iter().filter(|(name, _)| !LEFT_OUT.contains(&name.as_str()));
    let heads: BTreeMap<_, _> =
        kept.map(|(name, value)| (name.clone(), String::from_utf8_lossy(value).into_owned())).collect();
    let mut said = Map::new();
    said.insert("status".to_owned(), json!(answer.status));
    if !heads.is_empty() {
        said.insert("headers".to_owned(), json!(heads));
    }
    if !answer.body.is_empty() {
        said.insert("body".to_owned(), body(&answer.body));
    }
    json!({ "request": asked, "answer": said })
}

/// Returns a body as JSON if its bytes are canonical JSON, and otherwise as text.
fn body(bytes: &[u8]) -> Value {
    match json::read::<Value>(bytes, TreeLimit::VALUE) {
        Ok(value @ (Value::Object(_) | Value::Array(_))) if value.to_string().as_bytes() == bytes => value,
        _ => String::from_utf8_lossy(bytes).into_owned().into(),
    }
}

/// Adds answers to `http` in the text of a case. Returns `None` if they cannot be added without changing existing text.
pub fn with_answers(text: &str, answers: &[Value]) -> Option<String> {
    let list = yaml::write(&Node::from_json(&json!({ "http": answers })));
    let items = list.strip_prefix("http:\n")?;
    let root = yaml::parse(text, &Problems::new())?;
    let present = root.as_mapping()?.get("http").filter(|node| !node.is_null());
    let Some(present) = present else {
        let end = if text.ends_with('\n') { "" } else { "\n" };
        return Some(format!("{text}{end}\n{list}"));
    };
    let first = present.as_list()?.first()?;
    // In a block list, each item follows a dash on its own line.
    let indent = first.span.column.checked_sub(3)?;
    let line = text[..first.span.start].rfind('\n').map_or(0, |end| end + 1);
    if text.get(line..first.span.start)?.trim() != "-" {
        return None;
    }
    let end_of_last = present.as_list()?.last()?.span.end;
    let at = text[end_of_last..].find('\n').map_or(text.len(), |end| end_of_last + end + 1);
    let (before, after) = text.split_at(at);
    let end = if before.ends_with('\n') { "" } else { "\n" };
    let shifted: String = items
        .split_inclusive('\n')
        .map(|line| match line.strip_prefix("  ") {
            Some(rest) => format!("{:indent$}{rest}", ""),
            None => line.to_owned(),
        })
        .collect();
    Some([before, end, &shifted, after].concat())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn doubles(text: &str) -> Vec<HttpDouble> {
        let problems = Problems::new();
        let root = yaml::parse(text, &problems).unwrap();
        let read = read(root.as_mapping().unwrap().get("http").unwrap(), &problems);
        problems.finish("case", text, Some(read)).unwrap().0
    }

    fn get(url: &str) -> HttpRequest {
        HttpRequest { method: "GET".to_owned(), url: url.to_owned(), fields: Vec::new(), body: Vec::new() }
    }

    const CASE: &str = "http:\n  - request: { url: https://a.test }\n    answer: { body: { ok: true } }\n    times: 1\n  - request: { method: get, url: \"https://a.test/\" }\n    answer: { status: 503 }\n";

    #[test]
    fn the_first_answer_that_fits_and_is_left_counts() {
        let servers = CaseServers::new(&doubles(CASE), false);
        let ask = |url| match servers.answer(&get(url)) {
            DoubledAnswer::Answer(answer) => answer.status,
            DoubledAnswer::Missing(message) => {
                assert!(message.contains("GET https://b.test:443/"), "{message}");
                0
            }
            DoubledAnswer::Send => 1,
        };
        let asked =
            ["https://a.test:443/", "https://a.test:443/", "https://a.test:443/", "https://b.test:443/"];
        assert_eq!(asked.map(ask), [200, 503, 503, 0]);
    }

    #[test]
    fn what_was_recorded_is_read_as_what_was_answered() {
        let request = HttpRequest {
            method: "POST".to_owned(),
            body: br#"{"a":1}"#.to_vec(),
            ..get("http://a.test:80/x?y")
        };
        let answer = HttpAnswer {
            status: 201,
            fields: vec![("x-a".to_owned(), b"1".to_vec()), ("date".to_owned(), b"now".to_vec())],
            body: b"two\nlines".to_vec(),
        };
        let servers = CaseServers::new(&[], true);
        assert_eq!(servers.answer(&request), DoubledAnswer::Send);
        servers.sent(&request, &answer);
        for text in ["script: []\n", CASE, "script: []", &format!("{CASE}# behind\nscript: []\n")] {
            let written = with_answers(text, &servers.recorded()).unwrap();
            let read = doubles(&written);
            let last = read.last().unwrap();
            assert!(last.fits(&request), "{written}");
            assert_eq!((last.answer.status, &last.answer.body), (201, &answer.body), "{written}");
            assert_eq!(last.answer.fields, [("x-a".to_owned(), b"1".to_vec())], "{written}");
        }
        assert_eq!(with_answers("http: [{ request: { url: a }, answer: {} }]\n", &servers.recorded()), None);
    }
}
