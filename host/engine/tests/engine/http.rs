//! Requests: permitted ones are sent to the checked address, and no others are sent.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use graph_core::capability::{CapabilityKind, EffectiveGrant, HttpRule, Scheme, SecretRule, SecretSource};
use graph_core::limits::TaskLimits;
use graph_core::node::Category;
use graph_engine::{
    CallReport, Classification, Engine, EngineConfig, PendingResolution, PreparedNode, Resolver,
};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::support::{TESTKIT_NET, call, call_within, component, limits, replay, value};

/// Host names with the addresses that the resolver of the tests returns for them.
#[derive(Debug)]
struct Names;

impl Resolver for Names {
    fn resolve<'a>(&'a self, host: &'a str) -> PendingResolution<'a> {
        let found: Vec<IpAddr> = match host {
            "local.test" => vec!["127.0.0.1".parse().unwrap()],
            "metadata.test" => vec!["169.254.169.254".parse().unwrap()],
            "mapped.test" => vec!["::ffff:10.0.0.1".parse().unwrap()],
            "both.test" => vec!["127.0.0.1".parse().unwrap(), "10.0.0.1".parse().unwrap()],
            "nat64.test" => vec!["64:ff9b::7f00:1".parse().unwrap()],
            _ => Vec::new(),
        };
        Box::pin(async move { Ok(found) })
    }
}

fn engine() -> &'static Engine {
    static ENGINE: OnceLock<Engine> = OnceLock::new();
    ENGINE.get_or_init(|| {
        Engine::new(EngineConfig { resolver: Some(Arc::new(Names)), ..EngineConfig::default() }).unwrap()
    })
}

/// A server that answers every request with the result of a function of its text.
struct Server {
    port: u16,
    heard: Arc<Mutex<Vec<String>>>,
}

async fn server(answer: fn(&str) -> Vec<u8>) -> Server {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let listening = Arc::clone(&heard);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let listening = Arc::clone(&listening);
            tokio::spawn(async move {
                let mut bytes = Vec::new();
                let mut buffer = vec![0; 65536];
                loop {
                    let count = stream.read(&mut buffer).await.unwrap_or(0);
                    bytes.extend_from_slice(&buffer[..count]);
                    let text = String::from_utf8_lossy(&bytes).into_owned();
                    let Some((top, body)) = text.split_once("\r\n\r\n") else {
                        if count == 0 {
                            return;
                        }
                        continue;
                    };
                    let length = top
                        .lines()
                        .find_map(|line| {
                            line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok()
                        })
                        .unwrap_or(0);
                    if body.len() >= length || count == 0 {
                        listening.lock().unwrap().push(text.clone());
                        let _ = stream.write_all(&answer(&text)).await;
                        let _ = stream.shutdown().await;
                        return;
                    }
                }
            });
        }
    });
    Server { port, heard }
}

fn ok(_: &str) -> Vec<u8> {
    b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\nx-from: server\r\n\r\nhello".to_vec()
}

fn echo(text: &str) -> Vec<u8> {
    let shown =
        text.lines().find(|line| line.to_ascii_lowercase().starts_with("authorization")).unwrap_or("none");
    format!("HTTP/1.1 200 OK\r\nx-echo: {shown}\r\ncontent-length: {}\r\n\r\n{text}", text.len()).into_bytes()
}

fn rule(host: &str, port: u16) -> HttpRule {
    HttpRule {
        host: host.to_owned(),
        schemes: vec![Scheme::Http],
        ports: vec![port],
        methods: vec!["GET".to_owned(), "POST".to_owned()],
        addresses: vec!["127.0.0.1".parse().unwrap()],
    }
}

fn granted(http: Vec<HttpRule>, secrets: Vec<SecretRule>) -> PreparedNode {
    let loaded = engine().load(&component(TESTKIT_NET)).unwrap();
    let grant = EffectiveGrant {
        kinds: CapabilityKind::ALL.into_iter().collect(),
        http,
        secrets,
        ..EffectiveGrant::nothing(limits())
    };
    engine().prepare(&loaded, None, &grant).unwrap()
}

fn fetch(url: &str) -> Value {
    json!({"op": "fetch", "url": url})
}

fn failure(report: &CallReport) -> (Category, String) {
    let failure = report.result.clone().unwrap_err();
    (failure.category, failure.message)
}

#[tokio::test]
async fn a_granted_request_is_answered_and_answers_again() {
    let server = server(ok).await;
    let node = granted(vec![rule("local.test", server.port)], Vec::new());
    let params = json!({
        "op": "fetch", "url": format!("http://local.test:{}/a?b=c", server.port), "method": "POST",
        "fields": {"x-own": "1"}, "body": "x".repeat(100_000),
    });
    let first = call(&node, params.clone()).await;
    assert_eq!(value(&first)["status"], json!(200));
    assert_eq!(value(&first)["body"], json!("hello"));
    assert_eq!(value(&first)["fields"]["x-from"], json!("server"));
    let heard = server.heard.lock().unwrap().clone();
    assert!(heard[0].starts_with("POST /a?b=c HTTP/1.1\r\n"), "{}", &heard[0][..200]);
    assert!(heard[0].contains(&format!("host: local.test:{}\r\n", server.port)), "{}", &heard[0][..200]);
    assert!(heard[0].contains("x-own: 1\r\n") && heard[0].ends_with(&"x".repeat(100_000)));

    let again = replay(&node, &params, first.journal.clone()).await;
    assert_eq!((&again.result, again.fuel_used, &again.difference), (&first.result, first.fuel_used, &None));
    assert_eq!(server.heard.lock().unwrap().len(), 1, "a replay sent something");
}

/// Most clients hand a request over, then write its body: the request is sent once the body is finished, with the same result.
#[tokio::test]
async fn a_body_may_be_written_after_its_request_is_handed_over() {
    let server = server(ok).await;
    let node = granted(vec![rule("local.test", server.port)], Vec::new());
    for length in [0, 1, 4096, 1 << 20] {
        let url = format!("http://local.test:{}/", server.port);
        let body = "x".repeat(length);
        let params = |streamed: bool| json!({"op": "fetch", "url": url, "method": "POST", "body": body, "streamed": streamed});
        let (whole, streamed) = (call(&node, params(false)).await, call(&node, params(true)).await);
        assert_eq!(value(&streamed)["status"], json!(200), "{length}");
        assert_eq!(value(&streamed), value(&whole), "{length}");
        assert_eq!(streamed.journal, whole.journal, "{length}");
        assert!(server.heard.lock().unwrap().iter().all(|heard| heard.ends_with(&body)), "{length}");
        server.heard.lock().unwrap().clear();
        let again = replay(&node, &params(true), streamed.journal.clone()).await;
        assert_eq!((&again.result, again.fuel_used), (&streamed.result, streamed.fuel_used));
        assert!(server.heard.lock().unwrap().is_empty(), "a replay sent something");
    }
    let long = "x".repeat((1 << 20) + 1);
    for streamed in [false, true] {
        let url = format!("http://local.test:{}/", server.port);
        let params = json!({"op": "fetch", "url": url, "method": "POST", "body": long, "streamed": streamed});
        let report = call(&node, params).await;
        assert_eq!(report.classification, Classification::HostLimit, "{:?}", report.result);
        assert!(failure(&report).1.contains("a body of more than 1048576 bytes"), "{:?}", report.result);
    }
    assert!(server.heard.lock().unwrap().is_empty());
}

#[tokio::test]
async fn what_is_not_granted_goes_nowhere() {
    let server = server(ok).await;
    let port = server.port;
    let node = granted(vec![rule("local.test", port)], Vec::new());
    for (params, reason) in [
        (
            fetch(&format!("http://other.test:{port}/")),
            "no entry of `http` in its grant names the host `other.test`",
        ),
        (
            fetch(&format!("http://127.0.0.1:{port}/")),
            "no entry of `http` in its grant names the host `127.0.0.1`",
        ),
        (fetch(&format!("https://local.test:{port}/")), "its grant does not allow `local.test` by https"),
        (fetch("http://local.test:1/"), "its grant does not allow port 1 of `local.test`"),
        (
            json!({"op": "fetch", "url": format!("http://local.test:{port}/"), "method": "DELETE"}),
            "its grant does not allow DELETE to `local.test`",
        ),
    ] {
        let report = call(&node, params).await;
        assert_eq!(failure(&report).0, Category::Denied, "{reason}");
        assert!(report.logs.iter().any(|line| line.message.contains(reason)), "{:?}", report.logs);
        let again = report.journal[0].result.0["message"].as_str().unwrap();
        assert_eq!(again, reason);
    }
    for name in ["host", "connection", "transfer-encoding", "upgrade", "expect", "te", "proxy-authorization"]
    {
        let url = format!("http://local.test:{port}/");
        let report = call(&node, json!({"op": "fetch", "url": url, "fields": {name: "x"}})).await;
        assert_eq!(failure(&report).0, Category::InvalidInput, "{name}");
    }
    let user = call(&node, fetch(&format!("http://local.test@other.test:{port}/"))).await;
    assert!(user.result.is_err());
    assert!(server.heard.lock().unwrap().is_empty());
}

#[tokio::test]
async fn addresses_that_are_not_public_are_refused_whatever_name_leads_there() {
    let server = server(ok).await;
    let node = granted(
        ["metadata.test", "mapped.test", "both.test", "nat64.test"]
            .map(|host| rule(host, server.port))
            .to_vec(),
        Vec::new(),
    );
    for (host, shown) in [
        ("metadata.test", "169.254.169.254"),
        ("mapped.test", "::ffff:10.0.0.1"),
        ("both.test", "10.0.0.1"),
        ("nat64.test", "64:ff9b::7f00:1"),
    ] {
        let report = call(&node, fetch(&format!("http://{host}:{}/", server.port))).await;
        assert_eq!(failure(&report).0, Category::Denied, "{host}");
        assert!(
            report.logs[0].message.contains(&format!("is at {shown}, which is not public")),
            "{:?}",
            report.logs
        );
    }
    assert!(server.heard.lock().unwrap().is_empty());
}

#[tokio::test]
async fn redirects_are_requests_of_their_own() {
    fn away(_: &str) -> Vec<u8> {
        b"HTTP/1.1 302 Found\r\nlocation: http://169.254.169.254/latest\r\ncontent-length: 0\r\n\r\n".to_vec()
    }
    let server = server(away).await;
    let node = granted(vec![rule("local.test", server.port)], Vec::new());
    let url = format!("http://local.test:{}/", server.port);
    let stays = call(&node, fetch(&url)).await;
    assert_eq!(value(&stays)["status"], json!(302));
    let follows = call(&node, json!({"op": "fetch", "url": url, "follow": true})).await;
    assert_eq!(failure(&follows).0, Category::Denied);
    assert_eq!(follows.journal.len(), 2);
}

#[tokio::test]
async fn what_is_too_much_ends() {
    fn large(_: &str) -> Vec<u8> {
        let mut bytes = b"HTTP/1.1 200 OK\r\n\r\n".to_vec();
        bytes.resize(6 << 20, b'x');
        bytes
    }
    fn fields(_: &str) -> Vec<u8> {
        let fields = (0..40_000).fold(String::new(), |text, number| text + &format!("x-{number}: y\r\n"));
        format!("HTTP/1.1 200 OK\r\n{fields}\r\n").into_bytes()
    }
    fn nonsense(_: &str) -> Vec<u8> {
        b"\0\0 not HTTP at all\r\n\r\n".to_vec()
    }
    for (answer, category) in [
        (large as fn(&str) -> Vec<u8>, Category::Limit),
        (fields, Category::Limit),
        (nonsense, Category::Permanent),
    ] {
        let server = server(answer).await;
        let node = granted(vec![rule("local.test", server.port)], Vec::new());
        let report = call(&node, fetch(&format!("http://local.test:{}/", server.port))).await;
        assert_eq!(failure(&report).0, category, "{:?}", report.result);
    }
    let server = server(ok).await;
    let node = granted(vec![rule("local.test", server.port)], Vec::new());
    let url = format!("http://local.test:{}/", server.port);
    let within = TaskLimits { requests: 3, request_body: 10, ..limits() };
    let many = call_within(&node, &json!({"op": "fetch", "url": url, "times": 4}), within).await;
    assert_eq!((many.classification, many.journal.len()), (Classification::HostLimit, 3));
    let long = json!({"op": "fetch", "url": url, "method": "POST", "body": "x".repeat(11)});
    assert_eq!(failure(&call_within(&node, &long, within).await).0, Category::Limit);
}

#[tokio::test]
async fn every_byte_that_a_server_sends_counts() {
    const EARLY: &str = "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n";
    const CHUNKED: &str = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    fn interim(_: &str) -> Vec<u8> {
        [EARLY.repeat(1000).into_bytes(), ok("")].concat()
    }
    fn interim_alone(_: &str) -> Vec<u8> {
        EARLY.repeat((12 << 20) / EARLY.len()).into_bytes()
    }
    fn tiny_chunks(_: &str) -> Vec<u8> {
        format!("{CHUNKED}{}", "1\r\na\r\n".repeat(2 << 20)).into_bytes()
    }
    let first = server(interim).await;
    let node = granted(vec![rule("local.test", first.port)], Vec::new());
    let params = fetch(&format!("http://local.test:{}/", first.port));
    let report = call(&node, params.clone()).await;
    assert_eq!(value(&report)["body"], json!("hello"));
    let received = (1000 * EARLY.len() + ok("").len()) as u64;
    assert_eq!(report.journal[0].result.0["received"], json!(received));
    assert!(report.journal[0].host_use().bytes > received);
    let again = replay(&node, &params, report.journal.clone()).await;
    assert_eq!((again.result, again.difference), (report.result, None));
    let within = TaskLimits { bytes: received, ..limits() };
    assert_eq!(call_within(&node, &params, within).await.classification, Classification::HostLimit);
    for answer in [interim_alone as fn(&str) -> Vec<u8>, tiny_chunks] {
        let server = server(answer).await;
        let node = granted(vec![rule("local.test", server.port)], Vec::new());
        let report = call(&node, fetch(&format!("http://local.test:{}/", server.port))).await;
        assert_eq!(failure(&report).0, Category::Limit, "{:?}", report.result);
        assert!(report.journal[0].host_use().bytes > limits().response_body);
    }
}

#[tokio::test]
async fn a_slow_server_costs_time_and_no_fuel() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let node = granted(vec![rule("local.test", port)], Vec::new());
    let within = TaskLimits { timeout: Duration::from_millis(300), ..limits() };
    let params = fetch(&format!("http://local.test:{port}/"));
    let began = Instant::now();
    let report = call_within(&node, &params, within).await;
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    assert_eq!(report.classification, Classification::HostTimeout, "{:?}", report.result);
    assert_eq!(failure(&report).0, Category::Timeout);
    assert!(report.fuel_used < 1_000_000, "{}", report.fuel_used);
    let again = replay(&node, &params, report.journal.clone()).await;
    assert_eq!((&again.result, again.fuel_used), (&report.result, report.fuel_used));
}

#[tokio::test]
async fn a_secret_is_sent_and_never_seen() {
    const VALUE: &str = "s3cr3t-of-the-house";
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("token");
    std::fs::write(&path, format!("{VALUE}\n")).unwrap();
    let secret = SecretRule {
        name: "TOKEN".to_owned(),
        from: SecretSource::File(path.display().to_string()),
        header: "authorization".to_owned(),
        host: "local.test".to_owned(),
        schemes: vec![Scheme::Http],
    };
    let server = server(echo).await;
    let url = format!("http://local.test:{}/", server.port);
    let node = granted(vec![rule("local.test", server.port)], vec![secret.clone()]);
    let params = json!({"op": "secret", "url": url, "name": "TOKEN"});
    let report = call(&node, params.clone()).await;
    assert!(server.heard.lock().unwrap()[0].contains(&format!("authorization: Bearer {VALUE}")));
    assert_eq!(value(&report)["fields"]["x-echo"], json!("authorization: Bearer {{secret:TOKEN}}"));
    assert!(!format!("{report:?}").contains(VALUE), "the value can be seen");
    assert!(format!("{:?}", report.journal).contains("{{secret:TOKEN}}"));
    let again = replay(&node, &params, report.journal.clone()).await;
    assert_eq!((&again.result, again.fuel_used), (&report.result, report.fuel_used));

    // In another field the handle is sent unchanged; by another scheme or to another host it is refused.
    let other = json!({"op": "secret", "url": url, "name": "TOKEN", "field": "x-other"});
    assert_eq!(value(&call(&node, other).await)["status"], json!(200));
    assert!(!server.heard.lock().unwrap()[1].contains(VALUE));
    let elsewhere = granted(
        vec![rule("local.test", server.port)],
        vec![SecretRule { host: "api.acme.com".to_owned(), ..secret.clone() }],
    );
    assert_eq!(failure(&call(&elsewhere, params.clone()).await).0, Category::Denied);
    let secure = granted(
        vec![rule("local.test", server.port)],
        vec![SecretRule { schemes: vec![Scheme::Https], ..secret }],
    );
    assert_eq!(failure(&call(&secure, params).await).0, Category::Denied);
    assert_eq!(server.heard.lock().unwrap().len(), 2);
    let unknown = call(&node, json!({"op": "secret", "url": url, "name": "OTHER"})).await;
    assert_eq!(failure(&unknown).0, Category::Denied);
}
