//! Errors of signing components and texts.

use std::path::PathBuf;

use graph_core::capability::ParseInterfaceError;
use graph_core::id::IdError;
use graph_core::trust::{ClaimsError, SignError, StatementError};
use graph_engine::LoadError;

use crate::error::{Kind, OperationError};
use crate::remedy::Remedy;

/// Reasons for which a file is not signed, or its signature is not read.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "each message says what its fields are")]
pub enum SigningError {
    /// The path is that of a folder.
    #[error("{} is a folder, a file is needed", .0.display())]
    Folder(PathBuf),
    /// The path is that of a device or the like.
    #[error("{} is not a regular file", .0.display())]
    NotRegular(PathBuf),
    /// No file has the path.
    #[error("the file {} does not exist", .0.display())]
    NoFile(PathBuf),
    /// The text is in another encoding.
    #[error("the file {} is not text in UTF-8", .0.display())]
    NotText(PathBuf),
    /// The format has no comments.
    #[error("{} is neither a component nor a text that can carry a signature line", .0.display())]
    NoSignatureLine(PathBuf),
    /// The file is larger than such files are.
    #[error("{what} {} is larger than {most} bytes", path.display())]
    TooLarge { what: &'static str, path: PathBuf, most: u64 },
    /// The envelope is in another encoding.
    #[error("the envelope {} is not text in UTF-8", .0.display())]
    EnvelopeNotText(PathBuf),
    /// The envelope is missing.
    #[error("the envelope {} does not exist", .0.display())]
    NoEnvelope(PathBuf),
    /// The item id follows neither from the path nor from the request.
    #[error("the item id of {} is not known", .0.display())]
    NoItemId(PathBuf),
    /// The given id is none.
    #[error("`{id}` is not an item id: {source}")]
    ItemId { id: String, source: IdError },
    /// The component cannot be compiled.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The name of an import is none of an interface.
    #[error("`{id}` imports {source}")]
    Import { id: String, source: ParseInterfaceError },
    /// The host lacks an imported interface.
    #[error("`{id}` imports `{interface}`, which this host does not offer")]
    NotOffered { id: String, interface: String },
    /// The claims exceed a limit.
    #[error("what is to be stated about `{id}` is refused: {source}")]
    Statement { id: String, source: StatementError },
    /// The envelope cannot be made.
    #[error("`{id}` is not signed: {source}")]
    Sign { id: String, source: SignError },
    /// The envelope cannot be read, or takes no other signature.
    #[error("{}: {source}", envelope.display())]
    Claims { envelope: PathBuf, source: ClaimsError },
    /// The envelope is about another item.
    #[error("the envelope states that the component is `{stated}`, not `{item}`")]
    OtherItem { stated: String, item: String },
}

impl OperationError for SigningError {
    fn kind(&self) -> Kind {
        match self {
            Self::NoFile(_) | Self::NoEnvelope(_) => Kind::NotFound,
            Self::Folder(_)
            | Self::NotRegular(_)
            | Self::NoSignatureLine(_)
            | Self::NoItemId(_)
            | Self::ItemId { .. }
            | Self::OtherItem { .. }
            | Self::Claims { source: ClaimsError::AlreadySigned(_) | ClaimsError::Full, .. } => Kind::Usage,
            Self::NotText(_)
            | Self::TooLarge { .. }
            | Self::Statement { .. }
            | Self::Sign { source: SignError::Unreadable(_), .. } => Kind::Invalid,
            Self::Sign { source: SignError::Write(_), .. }
            | Self::Claims { source: ClaimsError::Write(SignError::Write(_)), .. } => Kind::Storage,
            Self::EnvelopeNotText(_)
            | Self::Load(_)
            | Self::Import { .. }
            | Self::NotOffered { .. }
            | Self::Claims { .. } => Kind::Integrity,
        }
    }

    fn remedy(&self) -> Option<Remedy> {
        Some(match self {
            Self::NoSignatureLine(_) => {
                "components are `.wasm`; texts are formats with comments, such as `.yaml`, `.md` and `.js`"
                    .into()
            }
            Self::NoItemId(_) => Remedy::NameItemId,
            Self::Sign { source: SignError::Unreadable(_), .. } => {
                "let it describe less: shorter texts and schemas, fewer functions with smaller types".into()
            }
            _ => return None,
        })
    }
}
