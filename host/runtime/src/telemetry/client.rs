//! Sends exports of the OpenTelemetry crates with the host's own HTTP client.

use std::time::Duration;

use graph_http::Client;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response, ResponseBodyTooLarge};

/// Limit of a collector's response, in bytes.
const MAX_RESPONSE: usize = 4 << 20;

/// HTTP client of the exporters. It blocks its thread until the collector has answered, so it must be called from the
/// export threads of the OpenTelemetry crates.
#[derive(Debug)]
pub(super) struct Sender {
    pub(super) client: Client,
    /// Time limit of a request.
    pub(super) time: Duration,
}

#[async_trait::async_trait]
impl HttpClient for Sender {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let mut response = self.client.send(request, self.time)?;
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk()? {
            if bytes.len() + chunk.len() > MAX_RESPONSE {
                return Err(Box::new(ResponseBodyTooLarge::new()));
            }
            bytes.extend_from_slice(&chunk);
        }
        let mut complete = Response::new(Bytes::from(bytes));
        *complete.status_mut() = response.status();
        complete.headers_mut().clone_from(response.headers());
        Ok(complete)
    }
}
