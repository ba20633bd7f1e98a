//! Who may be believed, and about what: keys, signatures, the trust store, and the one door through which component
//! bytes enter.

mod key;

pub use key::{KeyError, KeyId, ParseKeyIdError, ParseSignatureError, Signature, SigningKey, VerifyingKey};
