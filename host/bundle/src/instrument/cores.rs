//! Core modules of a component that was translated to JavaScript.

use std::ops::Range;

use wasmparser::{Encoding, Parser, Payload, Validator, WasmFeatures};

use super::module::{InstrumentError, InstrumentedModule, features, instrument, instrument_adapter};

/// Instruments the core modules of a translated component. `cores` are first those of the component and of everything
/// nested in it, in their order, and then the adapters between those components.
pub fn instrument_cores<'c>(
    component: &[u8],
    cores: impl IntoIterator<Item = &'c [u8]>,
) -> Result<Vec<InstrumentedModule>, InstrumentError> {
    Validator::new_with_features(features() | WasmFeatures::COMPONENT_MODEL).validate_all(component)?;
    let mut own = Vec::new();
    for (place, payload) in Parser::new(0).parse_all(component).enumerate() {
        match payload? {
            Payload::Version { encoding: Encoding::Module, .. } if place == 0 => {
                return Err(InstrumentError::Invalid("it is no component".to_owned()));
            }
            Payload::ModuleSection { unchecked_range: Range { start, end }, .. } => {
                let range = usize::try_from(start).ok().zip(usize::try_from(end).ok());
                own.extend(range.and_then(|(start, end)| component.get(start..end)));
            }
            _ => {}
        }
    }
    let mut cores = cores.into_iter();
    let mut instrumented = Vec::new();
    for module in own {
        // Only modules that the generator has written itself are treated as adapters.
        if cores.next() != Some(module) {
            return Err(InstrumentError::Invalid(
                "its core modules are not those of its translation".to_owned(),
            ));
        }
        instrumented.push(instrument(module)?);
    }
    for adapter in cores {
        instrumented.push(instrument_adapter(adapter)?);
    }
    Ok(instrumented)
}
