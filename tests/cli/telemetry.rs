//! Traces and metrics, received by a small collector.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::place::Place;

/// Path and body of a request.
type Posted = (String, Vec<u8>);

/// A collector that stores requests.
struct Collector {
    address: String,
    bodies: Arc<Mutex<Vec<Posted>>>,
}

impl Collector {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let bodies = Arc::new(Mutex::new(Vec::new()));
        let received = Arc::clone(&bodies);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let received = Arc::clone(&received);
                std::thread::spawn(move || {
                    while let Some(request) = request(stream.as_ref().unwrap()) {
                        received.lock().unwrap().push(request);
                    }
                });
            }
        });
        Self { address, bodies }
    }

    fn of(&self, path: &str) -> Vec<Vec<u8>> {
        let bodies = self.bodies.lock().unwrap();
        bodies.iter().filter(|(at, _)| at == path).map(|(_, body)| body.clone()).collect()
    }
}

/// Reads a request of HTTP/1.1, and accepts it with an empty answer; `None` at the end of the connection.
fn request(mut stream: &TcpStream) -> Option<Posted> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).ok()?;
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    let path = head.split(' ').nth(1)?.to_owned();
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().unwrap())
    });
    let mut body = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut body).ok()?;
    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").ok()?;
    Some((path, body))
}

/// A message of Protocol Buffers: its fields, by number. Only the wire format is known.
struct Message(Vec<(u64, Field)>);

enum Field {
    Number(u64),
    Bytes(Vec<u8>),
}

impl Message {
    fn read(mut bytes: &[u8]) -> Self {
        fn varint(bytes: &mut &[u8]) -> u64 {
            let (mut value, mut shift) = (0, 0);
            loop {
                let byte = bytes[0];
                *bytes = &bytes[1..];
                value |= u64::from(byte & 0x7f) << shift;
                shift += 7;
                if byte & 0x80 == 0 {
                    return value;
                }
            }
        }
        let mut fields = Vec::new();
        while !bytes.is_empty() {
            let key = varint(&mut bytes);
            let mut take = |count: usize| {
                let (taken, rest) = bytes.split_at(count);
                bytes = rest;
                taken.to_vec()
            };
            let field = match key & 7 {
                1 => Field::Number(u64::from_le_bytes(take(8).try_into().unwrap())),
                5 => Field::Number(u64::from(u32::from_le_bytes(take(4).try_into().unwrap()))),
                0 => Field::Number(varint(&mut bytes)),
                2 => {
                    let length = usize::try_from(varint(&mut bytes)).unwrap();
                    let (taken, rest) = bytes.split_at(length);
                    bytes = rest;
                    Field::Bytes(taken.to_vec())
                }
                kind => panic!("wire type {kind}"),
            };
            fields.push((key >> 3, field));
        }
        Self(fields)
    }

    fn bytes(&self, number: u64) -> Vec<&[u8]> {
        let found = self.0.iter().filter_map(|(key, field)| match field {
            Field::Bytes(bytes) if *key == number => Some(&bytes[..]),
            _ => None,
        });
        found.collect()
    }

    fn messages(&self, number: u64) -> Vec<Self> {
        self.bytes(number).into_iter().map(Self::read).collect()
    }

    fn text(&self, number: u64) -> String {
        self.bytes(number)
            .first()
            .map(|bytes| String::from_utf8_lossy(bytes).into_owned())
            .unwrap_or_default()
    }

    fn number(&self, number: u64) -> Option<u64> {
        self.0.iter().find_map(|(key, field)| match field {
            Field::Number(value) if *key == number => Some(*value),
            _ => None,
        })
    }
}

/// A span: fields of `opentelemetry.proto.trace.v1.Span`.
#[derive(Debug)]
struct Span {
    trace: Vec<u8>,
    id: Vec<u8>,
    parent: Vec<u8>,
    name: String,
    nanos: u64,
    attributes: BTreeMap<String, String>,
    /// 1: success, 2: error.
    status: u64,
}

fn attributes(message: &Message, number: u64) -> BTreeMap<String, String> {
    let pairs = message.messages(number).into_iter().map(|pair| {
        let value = Message::read(pair.bytes(2)[0]);
        let text = value.bytes(1).first().map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        (pair.text(1), text.or_else(|| value.number(3).map(|number| number.to_string())).unwrap_or_default())
    });
    pairs.collect()
}

/// Returns all spans, and the attributes of their sender.
fn spans(bodies: &[Vec<u8>]) -> (Vec<Span>, BTreeMap<String, String>) {
    let (mut spans, mut resource) = (Vec::new(), BTreeMap::new());
    for of_resource in bodies.iter().flat_map(|body| Message::read(body).messages(1)) {
        resource.extend(attributes(&of_resource.messages(1)[0], 1));
        for span in of_resource.messages(2).iter().flat_map(|scope| scope.messages(2)) {
            let bytes = |number| span.bytes(number).first().map(|bytes| bytes.to_vec()).unwrap_or_default();
            spans.push(Span {
                trace: bytes(1),
                id: bytes(2),
                parent: bytes(4),
                name: span.text(5),
                nanos: span.number(8).unwrap() - span.number(7).unwrap(),
                attributes: attributes(&span, 9),
                status: span.messages(15).first().and_then(|status| status.number(3)).unwrap_or(0),
            });
        }
    }
    (spans, resource)
}

/// Returns all metrics.
fn metrics(collector: &Collector) -> Vec<Message> {
    let bodies = collector.of("/v1/metrics");
    let resources = bodies.iter().flat_map(|body| Message::read(body).messages(1));
    resources.flat_map(|resource| resource.messages(2)).flat_map(|scope| scope.messages(2)).collect()
}

/// Returns the data points of a metric: a sum is field 7, a histogram field 9; data points are field 1 of either.
fn points(metrics: &[Message], name: &str) -> Vec<Message> {
    let metric = metrics.iter().find(|metric| metric.text(1) == name).unwrap_or_else(|| panic!("no {name}"));
    let data = metric.messages(7).into_iter().chain(metric.messages(9));
    data.flat_map(|data| data.messages(1)).collect()
}

const GRAPH: &str = r"start: emit
nodes:
  emit: { action: { item_id: t/kit, params: { op: emit, name: progress, count: 2 } }, next: flaky }
  flaky: { action: { item_id: t/kit, params: { op: fail, category: transient, message: down } }, retry: { max_attempts: 2, initial_interval: 1ms }, on_error: done }
  done: {}
";

const RUN: [&str; 7] = ["run", "g.yaml", "--caps", "caps.yaml", "--allow-unsigned", "--run-id", "r"];

#[test]
fn a_run_is_traced_and_measured() {
    let collector = Collector::start();
    let place = Place::with_testkit();
    place.graph("g.yaml", GRAPH);
    let mut command = place.command(&RUN);
    command.env("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.address).env("OTEL_SERVICE_NAME", "mine");
    let output = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && !stderr.contains("warning: telemetry"), "{stderr}");

    let (spans, resource) = spans(&collector.of("/v1/traces"));
    assert_eq!(resource["service.name"], "mine");
    let named = |name: &str| spans.iter().filter(|span| span.name == name).collect::<Vec<_>>();
    let [run] = named("run g")[..] else { panic!("{spans:?}") };
    assert_eq!((run.parent.len(), run.id.len(), run.trace.len(), run.status), (0, 8, 16, 1));
    assert_eq!(
        (&*run.attributes["graph_host.run"], &*run.attributes["graph_host.status"]),
        ("r", "completed")
    );
    let steps = named("superstep");
    assert_eq!(steps.len(), 3);
    let step = |number: &str| {
        let found = steps.iter().find(|step| step.attributes["graph_host.superstep"] == number);
        *found.unwrap_or_else(|| panic!("{steps:?}"))
    };
    assert!(steps.iter().all(|step| step.parent == run.id && step.status == 1));
    let [emit] = named("task emit")[..] else { panic!("{spans:?}") };
    assert_eq!((&emit.parent, emit.status), (&step("1").id, 1));
    assert_eq!(
        (&*emit.attributes["graph_host.item"], &*emit.attributes["graph_host.attempt"]),
        ("t/kit", "1")
    );
    assert!(emit.attributes["graph_host.fuel"].parse::<u64>().unwrap() > 0);
    let calls = named("graph-host:host/events#emit");
    assert_eq!(calls.len(), 2);
    assert!(calls.iter().all(|call| call.parent == emit.id && call.nanos <= emit.nanos), "{calls:?}");
    let attempts = named("task flaky");
    assert_eq!(attempts.len(), 2, "a span for each attempt");
    for attempt in attempts {
        assert_eq!((&attempt.parent, attempt.status), (&step("2").id, 2));
        assert_eq!(attempt.attributes["graph_host.category"], "transient");
    }
    assert!(spans.iter().all(|span| span.trace == run.trace));
    assert_eq!(spans.len(), 1 + 3 + 1 + 2 + 2);

    let metrics = metrics(&collector);
    let points = |name: &str| points(&metrics, name);
    // The value of a point of a sum is field 6 (as_int), the count of one of a histogram field 4.
    let sum = |name: &str| points(name).iter().map(|point| point.number(6).unwrap()).sum::<u64>();
    assert_eq!(sum("graph_host.supersteps"), 3);
    assert_eq!(sum("graph_host.attempts"), 3);
    assert_eq!(sum("graph_host.retries"), 1);
    assert_eq!(sum("graph_host.failures"), 2);
    assert!(sum("graph_host.fuel") > 0);
    let failures = attributes(&points("graph_host.failures")[0], 7);
    assert_eq!(failures["graph_host.category"], "transient");
    let count: u64 = points("graph_host.attempt.duration").iter().map(|point| point.number(4).unwrap()).sum();
    assert_eq!(count, 3);
}

/// Each level of graphs has a span of the node that starts it, one of the run with its graph's name, and the spans inside.
#[test]
fn a_node_that_runs_a_graph_has_a_span_that_the_run_is_inside_of() {
    let collector = Collector::start();
    let place = Place::with_testkit();
    let node = |item: &str| {
        format!("start: a\nnodes:\n  a: {{ action: {{ item_id: {item} }}, on_error: b }}\n  b: {{}}\n")
    };
    place.graph("g.yaml", &node("t/mid"));
    place.graph(".ai/tools/t/mid.yaml", &node("t/leaf"));
    let leaf = "start: work\nnodes:\n  work: { action: { item_id: t/kit, params: { op: echo, value: 1 } }, next: stop }\n  \
                stop: { action: { item_id: t/kit, params: { op: fail, category: permanent, message: down } } }\n";
    place.graph(".ai/tools/t/leaf.yaml", leaf);
    let output = place.command(&RUN).env("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.address).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));

    let (spans, _) = spans(&collector.of("/v1/traces"));
    let only = |name: &str| {
        let found: Vec<_> = spans.iter().filter(|span| span.name == name).collect();
        let [span] = found[..] else { panic!("{name}: {spans:?}") };
        span
    };
    let of_item = |item: &str| {
        let mut found = spans.iter().filter(|span| {
            span.name == "task a" && span.attributes.get("graph_host.item").is_some_and(|named| named == item)
        });
        found.next().unwrap_or_else(|| panic!("{item}: {spans:?}"))
    };
    let above = |span: &Span| {
        spans.iter().find(|above| above.id == span.parent).unwrap_or_else(|| panic!("{span:?}: {spans:?}"))
    };
    let (root, mid, leaf) = (only("run g"), only("run t/mid"), only("run t/leaf"));
    let (outer, inner) = (of_item("t/mid"), of_item("t/leaf"));
    assert_eq!((&mid.parent, &leaf.parent), (&outer.id, &inner.id));
    assert_eq!((&above(above(outer)).id, &above(above(inner)).id), (&root.id, &mid.id));
    assert_eq!(above(above(only("task work"))).id, leaf.id);
    assert_eq!(mid.attributes["graph_host.graph"], "t/mid");
    // The failure inside ends as a failure: its node has continued by `on_error`, and the run around it completed.
    assert_eq!((inner.status, leaf.status, outer.status, mid.status), (2, 2, 1, 1));
    assert!(outer.nanos >= mid.nanos && mid.nanos >= inner.nanos && inner.nanos > 0, "{spans:?}");
}

#[test]
fn attempts_that_run_a_graph_are_measured_as_others_are() {
    let collector = Collector::start();
    let place = Place::with_testkit();
    place.graph(
        "g.yaml",
        "start: a\nnodes:\n  a: { action: { item_id: t/leaf }, retry: { max_attempts: 2, initial_interval: 1ms, retry_on: [permanent] }, on_error: b }\n  b: {}\n",
    );
    place.graph(
        ".ai/tools/t/leaf.yaml",
        "start: stop\nnodes:\n  stop: { action: { item_id: t/kit, params: { op: fail, category: permanent, message: down } } }\n",
    );
    let output = place.command(&RUN).env("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.address).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metrics = metrics(&collector);
    let of = |name: &str, node: &str| {
        let points = points(&metrics, name);
        let of_node = points.iter().filter(|point| attributes(point, 7)["graph_host.node"] == node);
        of_node.map(|point| point.number(6).unwrap()).sum::<u64>()
    };
    let sum = |name: &str| points(&metrics, name).iter().map(|point| point.number(6).unwrap()).sum::<u64>();
    // A retry follows an attempt that has ended and failed.
    assert_eq!((sum("graph_host.retries"), of("graph_host.attempts", "a")), (1, 2));
    assert_eq!(of("graph_host.attempts", "stop"), 2);
    assert_eq!((sum("graph_host.attempts"), sum("graph_host.failures")), (4, 4));
    // The fuel of a graph is that of the attempts inside, counted once.
    assert_eq!(of("graph_host.fuel", "a"), 0);
    assert_eq!(sum("graph_host.fuel"), of("graph_host.fuel", "stop"));
}

#[test]
fn a_collector_that_is_down_does_no_harm() {
    let place = Place::with_testkit();
    place.graph("g.yaml", GRAPH);
    // A collector that refuses, and one that accepts the connection and never answers.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for (number, address) in [closed, silent.local_addr().unwrap()].into_iter().enumerate() {
        let url = format!("http://{address}");
        let began = Instant::now();
        let id = format!("r{number}");
        let ran = place.run(&[&RUN[..6], &[&id, "--otlp", &url]].concat());
        assert_eq!(ran.code, 0, "{}", ran.stderr);
        assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
        assert_eq!(ran.stderr.matches("telemetry could not be sent").count(), 1, "{}", ran.stderr);
    }
}

#[test]
fn what_cannot_be_sent_to_is_refused_before_anything_runs() {
    let place = Place::with_testkit();
    place.graph("g.yaml", GRAPH);
    let refused = place.run(&[&RUN[..], &["--otlp", "ftp://localhost"]].concat());
    assert_eq!(refused.code, 2, "{}", refused.stderr);
    assert_eq!(place.run(&["runs", "list"]).code, 9);
    // Nothing is sent if telemetry is disabled.
    let off = place
        .command(&RUN)
        .env("OTEL_SDK_DISABLED", "true")
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", "nonsense")
        .output();
    assert!(off.unwrap().status.success());
}
