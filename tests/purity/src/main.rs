//! Computes the vectors of documents in native code, and prints them as JSON: for each document its file, its text, its
//! vector, and the results of searches in it. `purity REPOSITORY`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use purity::vectors::{of_document, ranking_of};
use serde_json::json;

/// Lists all graphs of the repository: those of cases, the documents and the examples.
fn documents(repository: &Path) -> std::io::Result<Vec<(PathBuf, String)>> {
    let mut documents = Vec::new();
    for folder in ["tests/cases", "tests/documents", "examples"] {
        for path in files(&repository.join(folder))? {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let is_graph = folder == "tests/documents" || name == "graph.yaml";
            if !is_graph && !name.ends_with(".case.yaml") {
                continue;
            }
            let text = std::fs::read_to_string(&path)?;
            if let Some(text) = if is_graph { Some(text) } else { graph_of_case(&text) } {
                documents.push((path.strip_prefix(repository).unwrap_or(&path).to_owned(), text));
            }
        }
    }
    Ok(documents)
}

/// Lists all files below a folder, in order.
fn files(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(files(&path)?);
        } else {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// Makes a document of the `graph` of a case, in the dialect of the case; `None` for a case that uses another file's.
fn graph_of_case(text: &str) -> Option<String> {
    let start = text.find("\ngraph:\n")? + "\ngraph:\n".len();
    let lines = text[start..].lines().take_while(|line| line.is_empty() || line.starts_with(' '));
    let executor = text.lines().find(|line| line.starts_with("executor_id:")).unwrap_or_default();
    Some(format!("tool_type: graph\n{executor}\nconfig:\n{}\n", lines.collect::<Vec<_>>().join("\n")))
}

fn main() -> ExitCode {
    let Some(repository) = std::env::args_os().nth(1) else {
        eprintln!("usage: purity REPOSITORY");
        return ExitCode::from(2);
    };
    match documents(Path::new(&repository)) {
        Ok(documents) => {
            let vectors: Vec<_> = documents
                .iter()
                .map(|(file, text)| {
                    let (vector, ranking) = (of_document(text), ranking_of(text));
                    json!({ "file": file, "document": text, "vector": vector, "ranking": ranking })
                })
                .collect();
            println!("{}", json!(vectors));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("the documents cannot be read: {error}");
            ExitCode::FAILURE
        }
    }
}
