//! Requests to the server of a test.

use crate::Failure;
use crate::http::{Parts, Response};
use crate::testing::Request;

/// Returns the answer of the test's server to a request.
pub(crate) fn exchange(parts: &Parts<'_>) -> Result<Response, Failure> {
    let Some(server) = super::with(|state| state.server.clone()) else {
        return Err(Failure::denied(format_args!("{}: the request is not granted", parts.url)));
    };
    let scheme = if parts.secure { "https" } else { "http" };
    let mut response = server(&Request {
        method: parts.method.to_owned(),
        url: format!("{scheme}://{}{}", parts.authority, parts.path),
        fields: parts.fields.to_vec(),
        body: parts.body.to_vec(),
    })?;
    for (name, _) in &mut response.fields {
        name.make_ascii_lowercase();
    }
    Ok(response)
}
