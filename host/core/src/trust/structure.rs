//! Checks of component bytes that need no compilation.

/// The WebAssembly magic number, `\0asm`.
const MAGIC: &[u8] = b"\0asm";
/// Version 13, layer 1: a component in the encoding that the component model has had since 0.2.
const COMPONENT: &[u8] = &[0x0d, 0x00, 0x01, 0x00];
/// Version 1, layer 0.
const CORE_MODULE: &[u8] = &[0x01, 0x00, 0x00, 0x00];

/// The reason why bytes are not a WebAssembly component.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "each message says what its fields are")]
pub enum NotAComponent {
    /// No bytes at all.
    #[error("the file is empty")]
    Empty,
    /// The other layer of WebAssembly.
    #[error("it is a core module, not a component")]
    CoreModule,
    /// Another version of the component encoding.
    #[error("it is WebAssembly of an encoding that this host does not read (version and layer {0:02x?})")]
    OtherEncoding([u8; 4]),
    /// A compiled component. It is never accepted from outside.
    #[error(
        "it is a native object file (ELF), as a compiled component is; a compiled component is never accepted, give its `.wasm`"
    )]
    Compiled,
    /// WebAssembly in its text form.
    #[error("it is WebAssembly in text form")]
    TextForm,
    /// Bytes that do not start like any form of WebAssembly.
    #[error("it does not start like WebAssembly")]
    Foreign,
    /// The file ends inside of a section.
    #[error("it is truncated: the section at byte {offset} should have {expected} bytes, {left} are left")]
    Truncated {
        /// Offset of the section, in bytes.
        offset: usize,
        /// The section's stated length, in bytes.
        expected: u64,
        /// Number of bytes left.
        left: usize,
    },
    /// A section is expected at the offset, and the byte there does not start one.
    #[error("byte {offset} should start a section of a component, and does not")]
    NotASection { offset: usize },
}

/// Checks that bytes are a component by their outermost sections; the engine checks the sections' contents.
pub(super) fn check(bytes: &[u8]) -> Result<(), NotAComponent> {
    if bytes.is_empty() {
        return Err(NotAComponent::Empty);
    }
    if bytes.starts_with(b"\x7fELF") {
        return Err(NotAComponent::Compiled);
    }
    if !bytes.starts_with(MAGIC) {
        let text = bytes.trim_ascii_start();
        let is_text =
            text.starts_with(b"(component") || text.starts_with(b"(module") || text.starts_with(b";;");
        return Err(if is_text { NotAComponent::TextForm } else { NotAComponent::Foreign });
    }
    let Some(version) = bytes.get(4..8).and_then(|version| <[u8; 4]>::try_from(version).ok()) else {
        return Err(NotAComponent::Truncated { offset: 4, expected: 4, left: bytes.len().saturating_sub(4) });
    };
    match version.as_slice() {
        COMPONENT => sections(bytes),
        CORE_MODULE => Err(NotAComponent::CoreModule),
        _ => Err(NotAComponent::OtherEncoding(version)),
    }
}

/// Checks the outermost sections: each an id of 0 to 11, a length in LEB128, and as many bytes.
fn sections(bytes: &[u8]) -> Result<(), NotAComponent> {
    let mut at = 8;
    while let Some(&id) = bytes.get(at) {
        if id > 11 {
            return Err(NotAComponent::NotASection { offset: at });
        }
        let (length, begin) = length(bytes, at + 1).ok_or(NotAComponent::NotASection { offset: at })?;
        let left = bytes.len() - begin;
        at = match usize::try_from(length).ok().filter(|&length| length <= left) {
            Some(length) => begin + length,
            None => return Err(NotAComponent::Truncated { offset: at, expected: length, left }),
        };
    }
    Ok(())
}

/// Reads an unsigned LEB128 number of at most 32 bits, and returns it with its end.
fn length(bytes: &[u8], mut at: usize) -> Option<(u64, usize)> {
    let mut value = 0_u64;
    for shift in (0..35).step_by(7) {
        let byte = *bytes.get(at)?;
        at += 1;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return u32::try_from(value).is_ok().then_some((value, at));
        }
    }
    None
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Creates a component with one custom section that contains `content`: at most 100 bytes.
    pub(crate) fn component(content: &[u8]) -> Vec<u8> {
        let mut bytes = [MAGIC, COMPONENT].concat();
        bytes.push(0);
        bytes.push(u8::try_from(content.len() + 2).unwrap_or(0));
        bytes.extend_from_slice(b"\x01x");
        bytes.extend_from_slice(content);
        bytes
    }

    #[test]
    fn a_component_passes_and_nothing_else_does() {
        assert_eq!(check(&component(b"hello")), Ok(()));
        let whole = component(b"hello");
        let cases: [&[u8]; 12] = [
            b"",
            b"\0as",
            b"\0asm",
            b"\0asm\x0d\0",
            b"\0asm\x01\0\0\0",
            b"\0asm\x0e\0\x01\0",
            b"\x7fELF\x02\x01\x01",
            b"  (component)",
            b"#!/bin/sh\n",
            &whole[..whole.len() - 1],
            b"\0asm\x0d\0\x01\0\x63\x00",
            b"\0asm\x0d\0\x01\0\x00\xff\xff\xff\xff\xff\xff",
        ];
        let refused: Vec<_> = cases
            .iter()
            .map(|bytes| match check(bytes) {
                Ok(()) => format!("{bytes:?} passes"),
                Err(error) => error.to_string(),
            })
            .collect();
        insta::assert_snapshot!(refused.join("\n"));
    }
}
