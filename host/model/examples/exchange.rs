//! Encodes requests and decodes answers for programs in other languages: reads one JSON object from each line of the
//! input, and writes its result to one line of the output. `tests/models/record` uses it to exchange requests with a
//! server.
//!
//! - `{"encode": {"api", "request", "model", "max_output", "streamed", "extra"?}}` gives `{"path", "headers", "body", "bound_input"}`;
//! - `{"decode": {"api", "streamed", "status", "headers", "body"}}` gives `{"response"}` or `{"error", "category", …}`.

use std::collections::BTreeMap;
use std::io::{BufRead as _, Write as _};

use graph_model::{
    Api, ApiOptions, DecodeError, DecoderBounds, ErrorAnswer, Request, Response, Stream, Target,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

#[derive(Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Command {
    Encode {
        api: Api,
        request: Box<Request>,
        model: String,
        max_output: u64,
        streamed: bool,
        #[serde(default)]
        extra: Map<String, Value>,
    },
    Decode {
        api: Api,
        streamed: bool,
        status: u16,
        headers: BTreeMap<String, String>,
        body: String,
    },
}

fn perform(command: Command) -> Result<Value, Box<dyn std::error::Error>> {
    match command {
        Command::Encode { api, request, model, max_output, streamed, extra } => {
            let options = ApiOptions { extra, ..ApiOptions::default() };
            let encoded =
                api.encode(&request, &Target { model: &model, max_output, streamed, options: &options })?;
            Ok(json!({
                "path": encoded.path,
                "headers": encoded.headers.iter().copied().collect::<BTreeMap<_, _>>(),
                "body": serde_json::from_slice::<Value>(&encoded.body)?,
                "bound_input": encoded.bound_input(1000),
            }))
        }
        Command::Decode { api, streamed, status, headers, body } => {
            if status != 200 {
                let headers = headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
                let answer = ErrorAnswer::new(status, headers, body.as_bytes());
                return Ok(
                    json!({"error": answer.to_string(), "category": answer.category, "answer": answer}),
                );
            }
            Ok(match decode(api, streamed, body.as_bytes()) {
                Ok(response) => json!({"response": response}),
                Err(error) => {
                    json!({"error": error.to_string(), "category": error.category(), "usage": error.usage()})
                }
            })
        }
    }
}

fn decode(api: Api, streamed: bool, body: &[u8]) -> Result<Response, DecodeError> {
    if !streamed {
        return api.decode(body, &DecoderBounds::default());
    }
    let mut stream = Stream::new(api, DecoderBounds::default());
    stream.feed(body)?;
    stream.finish()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut output = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let result = serde_json::from_str(&line?).map_err(Into::into).and_then(perform);
        let result = result.unwrap_or_else(|error| json!({"error": error.to_string()}));
        writeln!(output, "{result}")?;
        output.flush()?;
    }
    Ok(())
}
