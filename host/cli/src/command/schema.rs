//! `graph-host schema`.

use std::io::Write as _;
use std::path::PathBuf;

use graph_host::context::{Context, current_project};
use graph_host::document_kind::DocumentKind;
use graph_host::terminal::exit::Exit;
use graph_host::terminal::output::{self, styled};
use graph_host::terminal::paths::shown;
use graph_runtime::error::{Error, Result};
use graph_runtime::graph_store::held::{FolderPlace, WriteOptions};
use graph_runtime::project::paths;
use serde_json::json;

/// Folder of schemas, relative to the project.
pub(crate) const FOLDER: &str = ".ai/schemas";

/// Print the JSON Schema of a kind of document, or write all schemas
///
/// With a schema, an editor that supports YAML and JSON Schema completes keys and marks mistakes. VS Code needs the
/// extension "YAML" (redhat.vscode-yaml) and, at the top of a file, the line that `--write` prints for its kind. Nothing is
/// fetched from the network.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The kind of document
    #[arg(value_enum, required_unless_present = "write")]
    kind: Option<DocumentKind>,
    /// Write the schemas of all kinds into DIR, `.ai/schemas` of the project by default
    #[arg(long, value_name = "DIR", num_args = 0..=1, conflicts_with = "kind")]
    #[allow(clippy::option_option, reason = "an option whose value may be left out")]
    write: Option<Option<PathBuf>>,
}

pub(crate) fn run(args: Args, context: &Context) -> Result<Exit> {
    let output = context.output;
    if let Some(kind) = args.kind {
        output.document(&kind.schema())?;
        return Ok(Exit::Ok);
    }
    let folder = match args.write.flatten() {
        Some(folder) => FolderPlace::at(&folder)
            .make()
            .map_err(|error| Error::write("the folder of schemas", &folder, &error))?,
        None => paths::folder(&current_project()?, &["schemas"])?,
    };
    let mut written = Vec::new();
    for kind in DocumentKind::ALL {
        let file = folder.path().join(kind.schema_file());
        folder
            .replace(kind.schema_file(), WriteOptions::with_mode(0o644), |file| {
                file.write_all(kind.schema_text().as_bytes())
            })
            .map_err(|error| Error::write("the schema", &file, &error))?;
        written.push((kind, file));
    }
    if output.is_json() {
        let files: Vec<_> = written.iter().map(|(_, file)| file.display().to_string()).collect();
        output.document(&json!({ "written": files }))?;
        return Ok(Exit::Ok);
    }
    for (_, file) in written {
        output.line(format_args!("{} {}", styled(output::GOOD, "+"), shown(&file)))?;
        output.line(styled(output::DIM, line(&shown(&file))))?;
    }
    output.line("each line is for files in this folder: its path is relative to the file that it is in")?;
    Ok(Exit::Ok)
}

/// Returns the comment that names the schema of a document, by a path relative to the document.
fn line(schema: &str) -> String {
    format!("# yaml-language-server: $schema={schema}")
}

/// Returns the comment for a document of a project, by its path inside the project.
pub(crate) fn modeline(document: &str, kind: DocumentKind) -> String {
    let up = "../".repeat(document.matches('/').count());
    line(&format!("{up}{FOLDER}/{}", kind.schema_file()))
}
