#![allow(clippy::unwrap_used)]
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};

use super::*;

const LONG: Duration = Duration::from_secs(30);

/// Answers requests, and sends the head of each, with the number of its connection, to the returned receiver. After an
/// empty answer the connection stays open and silent.
fn server(answer: impl Fn(&str) -> String + Send + 'static) -> (String, mpsc::Receiver<(usize, String)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = listener.local_addr().unwrap().to_string();
    let (sender, received) = mpsc::channel();
    std::thread::spawn(move || {
        for (number, stream) in listener.incoming().enumerate() {
            let mut reader = BufReader::new(stream.unwrap());
            while let Some(head) = head(&mut reader) {
                let answer = answer(&head);
                sender.send((number, head)).unwrap();
                reader.get_mut().write_all(answer.as_bytes()).unwrap();
            }
        }
    });
    (place, received)
}

fn head(reader: &mut BufReader<TcpStream>) -> Option<String> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
    reader.read_exact(&mut vec![0; length.unwrap_or(0)]).ok()?;
    Some(head)
}

fn ok(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

fn client(proxies: Matcher) -> Client {
    Client::with_proxies(proxies, None).unwrap()
}

fn get(uri: &str) -> Request<Bytes> {
    Request::get(uri).body(Bytes::new()).unwrap()
}

fn text(mut response: Response) -> Result<String, Error> {
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk()? {
        bytes.extend_from_slice(&chunk);
    }
    Ok(String::from_utf8(bytes).unwrap())
}

#[test]
fn a_connection_is_kept_for_the_next_request() {
    let (place, received) = server(|_| ok("well"));
    let client = client(Matcher::builder().build());
    for path in ["a", "b"] {
        let request = Request::post(format!("http://{place}/{path}?q=1")).body(Bytes::from_static(b"body"));
        let response = client.send(request.unwrap(), LONG).unwrap();
        assert_eq!((response.status(), text(response)), (StatusCode::OK, Ok("well".to_owned())));
    }
    let ((one, first), (other, second)) = (received.recv().unwrap(), received.recv().unwrap());
    assert_eq!((one, other), (0, 0));
    assert!(first.starts_with("POST /a?q=1 HTTP/1.1\r\n") && second.starts_with("POST /b?q=1 "), "{first}");
    for field in
        [&format!("host: {place}\r\n"), "content-length: 4\r\n", "accept: */*\r\n", "user-agent: graph-host/"]
    {
        assert!(first.contains(field), "{field} is not in {first}");
    }
}

#[test]
fn redirects_are_not_followed() {
    let (place, received) =
        server(|_| "HTTP/1.1 307 No\r\nlocation: /b\r\ncontent-length: 0\r\n\r\n".to_owned());
    let response = client(Matcher::builder().build()).send(get(&format!("http://{place}/a")), LONG).unwrap();
    assert_eq!(
        (response.status().as_u16(), &response.headers()["location"]),
        (307, &HeaderValue::from_static("/b"))
    );
    drop(response);
    received.recv().unwrap();
    received.try_recv().unwrap_err();
}

#[test]
fn a_silent_server_is_not_waited_for() {
    let (silent, _heads) = server(|_| String::new());
    let (slow, _others) = server(|_| "HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf".to_owned());
    let client = client(Matcher::builder().build());
    let short = Duration::from_millis(300);
    assert_eq!(client.send(get(&format!("http://{silent}/")), short).unwrap_err(), Error::Timeout);
    // The time of a request includes that of its body.
    let response = client.send(get(&format!("http://{slow}/")), short).unwrap();
    assert_eq!(text(response).unwrap_err(), Error::Timeout);
}

#[test]
fn an_incomplete_response_is_an_error() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let mut reader = BufReader::new(listener.accept().unwrap().0);
        head(&mut reader).unwrap();
        reader.get_mut().write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf").unwrap();
    });
    let response = client(Matcher::builder().build()).send(get(&format!("http://{place}/")), LONG).unwrap();
    assert!(matches!(text(response), Err(Error::Failed(_))));
}

#[test]
fn a_server_that_is_not_there_is_an_error_that_says_why() {
    let place = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let error = client(Matcher::builder().build()).send(get(&format!("http://{place}/")), LONG).unwrap_err();
    assert!(matches!(&error, Error::Failed(reason) if reason.contains("refused")), "{error:?}");
}

#[test]
fn a_proxy_is_told_where_a_request_goes() {
    let (proxy, received) = server(|_| ok("from the proxy"));
    let client = client(Matcher::builder().http(format!("http://me:secret@{proxy}")).no("localhost").build());
    let response = client.send(get("http://registry.example/v2/"), LONG).unwrap();
    assert_eq!(text(response).unwrap(), "from the proxy");
    let (_, head) = received.recv().unwrap();
    assert!(head.starts_with("GET http://registry.example/v2/ HTTP/1.1\r\n"), "{head}");
    assert!(head.contains("proxy-authorization: Basic bWU6c2VjcmV0\r\n"), "{head}");
    assert!(head.contains("host: registry.example\r\n"), "{head}");

    let (place, direct) = server(|_| ok("itself"));
    let uri = format!("http://localhost:{}/", place.split_once(':').unwrap().1);
    assert_eq!(text(client.send(get(&uri), LONG).unwrap()).unwrap(), "itself");
    assert!(!direct.recv().unwrap().1.contains("proxy-authorization"));
}

#[test]
fn tls_goes_through_a_tunnel() {
    // The proxy opens the tunnel: the next byte that it receives is that of the client's first TLS message.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let proxy = listener.local_addr().unwrap();
    let (sender, received) = mpsc::channel();
    std::thread::spawn(move || {
        let mut reader = BufReader::new(listener.accept().unwrap().0);
        let head = head(&mut reader).unwrap();
        reader.get_mut().write_all(b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
        let mut first = [0];
        reader.read_exact(&mut first).unwrap();
        sender.send((head, first[0])).unwrap();
    });
    let client = client(Matcher::builder().https(format!("http://me:secret@{proxy}")).build());
    client.send(get("https://registry.example/v2/"), LONG).unwrap_err();
    let (head, first) = received.recv().unwrap();
    assert!(head.starts_with("CONNECT registry.example:443 HTTP/1.1\r\n"), "{head}");
    assert!(head.to_ascii_lowercase().contains("proxy-authorization: basic bwu6c2vjcmv0\r\n"), "{head}");
    assert_eq!(first, 22, "a handshake");
}

#[tokio::test]
async fn it_can_be_used_and_dropped_within_a_runtime() {
    let (place, _received) = server(|_| ok("well"));
    let client = client(Matcher::builder().build());
    let response = client.send(get(&format!("http://{place}/")), LONG).unwrap();
    drop(client);
    assert_eq!(text(response).unwrap(), "well");
}

#[test]
fn only_permitted_addresses_are_connected_to() {
    let (place, received) = server(|_| ok("itself"));
    let port = place.split_once(':').unwrap().1;
    let nowhere = Client::with_proxies(Matcher::builder().build(), Some(|_| false)).unwrap();
    for uri in [
        format!("http://{place}/"),
        format!("http://localhost:{port}/"),
        format!("https://localhost:{port}/"),
        format!("http://[::1]:{port}/"),
        format!("http://[::ffff:127.0.0.1]:{port}/"),
    ] {
        let refused = nowhere.send(get(&uri), LONG).unwrap_err();
        assert!(matches!(refused, Error::Address(_)), "{uri}: {refused:?}");
    }
    received.try_recv().unwrap_err();
    // A proxy may have any address, but a request for a refused address is refused through a proxy, too.
    let (proxy, asked) = server(|_| ok("from the proxy"));
    let matcher =
        || Matcher::builder().http(format!("http://localhost:{}", proxy.split_once(':').unwrap().1));
    let through = Client::with_proxies(matcher().build(), Some(|_| false)).unwrap();
    assert_eq!(
        text(through.send(get("http://registry.example/v2/"), LONG).unwrap()).unwrap(),
        "from the proxy"
    );
    asked.recv().unwrap();
    let refused = through.send(get(&format!("http://{place}/")), LONG).unwrap_err();
    assert!(matches!(refused, Error::Address(_)), "{refused:?}");
    let loopback =
        Client::with_proxies(Matcher::builder().build(), Some(|address| address.is_loopback())).unwrap();
    assert_eq!(
        text(loopback.send(get(&format!("http://localhost:{port}/")), LONG).unwrap()).unwrap(),
        "itself"
    );
}
