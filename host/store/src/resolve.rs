//! Resolves the names by which users refer to runs.

use crate::error::{ResolveError, StorageError};

/// Maximum number of candidates that are listed for an ambiguous name.
const LISTED: usize = 5;

/// The lookups that are needed to resolve a name.
pub(crate) trait Names {
    /// Returns the id of the newest run without a parent.
    fn last(&mut self) -> Result<Option<String>, StorageError>;
    /// Returns at most `limit` ids that begin with `prefix`, in byte order.
    fn beginning(&mut self, prefix: &str, limit: usize) -> Result<Vec<String>, StorageError>;
}

/// Returns the id of the run that a user names.
pub(crate) fn resolve(name: &str, names: &mut impl Names) -> Result<String, ResolveError> {
    if name == "@last" {
        return names.last()?.ok_or(ResolveError::NoRuns);
    }
    if name.is_empty() || name.starts_with('@') {
        return Err(ResolveError::UnknownName { name: name.to_owned() });
    }
    let mut candidates = names.beginning(name, LISTED + 1)?;
    match candidates.len() {
        0 => {
            let name = name.to_owned();
            let run = name.split_once('/').map(|(run, _)| run).filter(|run| !run.is_empty());
            match run
                .map(|run| names.beginning(run, 1))
                .transpose()?
                .and_then(|found| found.into_iter().next())
            {
                Some(run) => Err(ResolveError::Inside { name, run }),
                None => Err(ResolveError::NotFound { name }),
            }
        }
        1 => Ok(candidates.remove(0)),
        // In byte order, a complete id comes before every longer one that begins with it.
        _ if candidates[0] == name => Ok(candidates.remove(0)),
        count => {
            candidates.truncate(LISTED);
            Err(ResolveError::Ambiguous { name: name.to_owned(), candidates, more: count > LISTED })
        }
    }
}
