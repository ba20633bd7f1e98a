//! Destinations of telemetry, from the command line and the standard environment variables (OpenTelemetry
//! specification, "Environment Variable Specification" and "OTLP Exporter Configuration").

use crate::error::{Error, Result};
use crate::remedy::Remedy;

/// URLs of the collector; at least one is set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The URL that traces are sent to; `None` to send none.
    pub traces: Option<String>,
    /// The URL that metrics are sent to; `None` to send none.
    pub metrics: Option<String>,
}

const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
/// The URL of a collector unless one is configured: the default of OTLP over HTTP.
const DEFAULT_ENDPOINT: &str = "http://localhost:4318";

impl Config {
    /// The configuration, if there is any. `otlp` is the collector's URL from the command line, and `variable` looks up an
    /// environment variable.
    pub fn find(otlp: Option<&str>, variable: impl Fn(&str) -> Option<String>) -> Result<Option<Self>> {
        // An empty variable counts as not set.
        let variable =
            |name: &str| variable(name).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
        if variable("OTEL_SDK_DISABLED").is_some_and(|text| text.eq_ignore_ascii_case("true")) {
            return Ok(None);
        }
        let signal = |name: &str, path: &str| -> Result<Option<String>> {
            let exporter = variable(&format!("OTEL_{name}_EXPORTER"));
            match exporter.as_deref() {
                Some("none") => return Ok(None),
                None | Some("otlp") => {}
                Some(other) => {
                    return Err(Error::usage(format!(
                        "OTEL_{name}_EXPORTER is `{other}`: this program knows `otlp` and `none`"
                    )));
                }
            }
            let own = variable(&format!("OTEL_EXPORTER_OTLP_{name}_ENDPOINT"));
            let base = match (otlp, &own) {
                (Some(url), _) => Some(url.to_owned()),
                (None, Some(_)) => None,
                (None, None) => variable(ENDPOINT).or_else(|| exporter.map(|_| DEFAULT_ENDPOINT.to_owned())),
            };
            let url = match (base, own) {
                (Some(base), _) => format!("{}/{path}", base.trim_end_matches('/')),
                (None, Some(own)) => own,
                (None, None) => return Ok(None),
            };
            for of in
                [format!("OTEL_EXPORTER_OTLP_{name}_PROTOCOL"), "OTEL_EXPORTER_OTLP_PROTOCOL".to_owned()]
            {
                if let Some(protocol) = variable(&of).filter(|protocol| protocol != "http/protobuf") {
                    return Err(Error::usage(format!(
                        "{of} is `{protocol}`: this program sends telemetry as `http/protobuf`"
                    )));
                }
            }
            check(&url)?;
            Ok(Some(url))
        };
        let found =
            Self { traces: signal("TRACES", "v1/traces")?, metrics: signal("METRICS", "v1/metrics")? };
        Ok((found.traces.is_some() || found.metrics.is_some()).then_some(found))
    }
}

fn check(url: &str) -> Result<()> {
    let parsed = url::Url::parse(url);
    match parsed {
        Ok(parsed) if matches!(parsed.scheme(), "http" | "https") && parsed.has_host() => Ok(()),
        Ok(parsed) => Err(Error::usage(format!(
            "telemetry cannot be sent to `{url}`: it takes http:// or https://, not {}://",
            parsed.scheme()
        ))),
        Err(error) => {
            Err(Error::usage(format!("telemetry cannot be sent to `{url}`: {error}"))
                .help(Remedy::NameCollector))
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn find(otlp: Option<&str>, variables: &[(&str, &str)]) -> Result<Option<Config>> {
        Config::find(otlp, |name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn nothing_is_sent_unless_somebody_says_where() {
        assert_eq!(find(None, &[]).unwrap(), None);
        assert_eq!(find(None, &[("OTEL_SERVICE_NAME", "x")]).unwrap(), None);
        assert_eq!(find(None, &[(ENDPOINT, " ")]).unwrap(), None);
        assert_eq!(find(Some("http://a"), &[("OTEL_SDK_DISABLED", "TRUE")]).unwrap(), None);
        let none =
            [(ENDPOINT, "http://a"), ("OTEL_TRACES_EXPORTER", "none"), ("OTEL_METRICS_EXPORTER", "none")];
        assert_eq!(find(None, &none).unwrap(), None);
    }

    #[test]
    fn places_are_found() {
        let both = |url: &str| Config {
            traces: Some(format!("{url}/v1/traces")),
            metrics: Some(format!("{url}/v1/metrics")),
        };
        assert_eq!(find(Some("http://a:1/"), &[(ENDPOINT, "http://b")]).unwrap(), Some(both("http://a:1")));
        assert_eq!(find(None, &[(ENDPOINT, "http://b/x")]).unwrap(), Some(both("http://b/x")));
        let traces = find(None, &[("OTEL_TRACES_EXPORTER", "otlp")]).unwrap().unwrap();
        assert_eq!(traces.traces.as_deref(), Some("http://localhost:4318/v1/traces"));
        assert_eq!(traces.metrics, None);
        let own = [(ENDPOINT, "http://b"), ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://c/own")];
        let found = find(None, &own).unwrap().unwrap();
        assert_eq!(found.traces.as_deref(), Some("https://c/own"));
        assert_eq!(found.metrics.as_deref(), Some("http://b/v1/metrics"));
    }

    #[test]
    fn what_cannot_be_done_is_refused() {
        let refused = |otlp: Option<&str>, variables: &[(&str, &str)]| {
            find(otlp, variables).unwrap_err().message().to_owned()
        };
        assert!(refused(Some("ftp://a"), &[]).contains("not ftp://"));
        assert!(refused(Some("nonsense"), &[]).contains("cannot be sent to `nonsense/v1/traces`"));
        assert!(refused(None, &[("OTEL_TRACES_EXPORTER", "zipkin")]).contains("`zipkin`"));
        let grpc = [(ENDPOINT, "http://a"), ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")];
        assert!(refused(None, &grpc).contains("`http/protobuf`"));
    }
}
