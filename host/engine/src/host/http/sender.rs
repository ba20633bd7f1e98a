//! Gets a request answered by doubles or by its server.

use std::sync::Arc;
use std::time::Duration;

use graph_core::capability::{HttpResponse as Response, OutgoingGrant, permit};
use graph_core::node::{Category, Failure};

use super::kept::Destination;
use super::problem::{Kind, Problem};
use super::received::ReceivedBytes;
use super::send::{Client, IgnoredResponse, Request, RequestBounds, ResponseReceiver};
use crate::services::{DoubledAnswer, HttpAnswer, HttpDoubles, HttpRequest};

/// The grant and the limits of one request.
#[derive(Clone)]
pub(in crate::host) struct Sender {
    /// The permitted requests, and the secrets in them.
    pub(in crate::host) outgoing: Arc<OutgoingGrant>,
    pub(in crate::host) client: Arc<Client>,
    /// Largest number of bytes of the response's body.
    pub(in crate::host) most: u64,
    /// Counts everything that the server sends.
    pub(in crate::host) received: ReceivedBytes,
    /// Time limit of connecting; `None`: the host's own.
    pub(in crate::host) connect: Option<Duration>,
    /// The destination for which the connection is kept after the response; `None`: it is closed.
    pub(in crate::host) destination: Option<Destination>,
    /// Time limit of the whole exchange; `None`: no limit of its own.
    pub(in crate::host) within: Option<Duration>,
}

impl Sender {
    /// Checks a request, sends it with its secrets, and removes them from the response. `arriving` receives the server's bytes, secrets
    /// included.
    pub(in crate::host) async fn send(
        &self,
        mut request: Request,
        arriving: &mut dyn ResponseReceiver,
    ) -> Result<Response, Problem> {
        let Request { scheme, host, port, method, fields, .. } = &mut request;
        let rule = self
            .outgoing
            .prepare(*scheme, host, *port, method, fields)
            .map_err(|denied| Problem::new(Kind::Denied, denied.to_string()))?;
        let bounds = RequestBounds { connect: self.connect, most: self.most, received: &self.received };
        let sent = self.client.send(&request, rule, bounds, self.destination.as_ref(), arriving);
        let response = tokio::time::timeout(self.within.unwrap_or(Duration::MAX), sent)
            .await
            .map_err(|_| Problem::new(Kind::ResponseTimeout, "the server did not answer in time"))??;
        self.outgoing
            .receive(&request.host, response)
            .map_err(|error| Problem::new(Kind::Encoding, error.to_string()))
    }

    /// Lets doubles answer a permitted request. If they have it sent, that takes no time of the run, whose clock may be virtual. The error
    /// ends the attempt.
    pub(in crate::host) async fn doubled(
        &self,
        doubles: &dyn HttpDoubles,
        request: Request,
    ) -> Result<Result<Response, Problem>, Failure> {
        let Request { scheme, host, port, method, .. } = &request;
        if let Err(denied) = permit(&self.outgoing.rules, *scheme, host, *port, method) {
            return Ok(Err(Problem::new(Kind::Denied, denied.to_string())));
        }
        let asked = HttpRequest {
            method: request.method.clone(),
            url: request.url(),
            fields: request.fields.clone(),
            body: request.body.to_vec(),
        };
        match doubles.answer(&asked) {
            DoubledAnswer::Answer(HttpAnswer { status, fields, body }) => {
                let most = self.most;
                if body.len() as u64 > most {
                    let message = format!("the answer of the case is larger than the limit of {most} bytes");
                    return Err(Failure::new(Category::Limit, message));
                }
                Ok(Ok(Response { status, fields, body }))
            }
            DoubledAnswer::Missing(message) => Err(Failure::new(Category::Denied, message)),
            DoubledAnswer::Send => {
                // A connection works only in its own runtime, which ends with the exchange.
                let sender = Self { destination: None, ..self.clone() };
                let sent = move || {
                    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
                    Ok(runtime.block_on(sender.send(request, &mut IgnoredResponse)))
                };
                let failed = |message: String| Failure::new(Category::Internal, message);
                let answer: std::io::Result<_> =
                    tokio::task::spawn_blocking(sent).await.map_err(|error| failed(error.to_string()))?;
                let answer = answer.map_err(|error| failed(error.to_string()))?;
                if let Ok(Response { status, fields, body }) = &answer {
                    doubles.sent(
                        &asked,
                        &HttpAnswer { status: *status, fields: fields.clone(), body: body.clone() },
                    );
                }
                Ok(answer)
            }
        }
    }
}
