//! A party to a negotiation about a number: it begins at its opening, gives way step by step, and never goes beyond its
//! limit.

use graph_sdk::prelude::*;

/// The party and what has been offered.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Params {
    /// Who speaks.
    party: String,
    /// Its first offer.
    opening: i64,
    /// The last that it could live with.
    limit: i64,
    /// How far it gives way each time.
    step: i64,
    /// All offers so far, in order.
    offers: Vec<Offer>,
}

/// An offer.
#[derive(Clone, Deserialize, Serialize, JsonSchema)]
struct Offer {
    /// Who made it.
    party: String,
    /// The number.
    value: i64,
}

/// What the party says.
#[derive(Serialize, JsonSchema)]
struct Turn {
    /// Its offer; the other party's where it accepts.
    offer: Offer,
    /// `offers`, `accepts` or `gives_up`.
    does: &'static str,
    /// The same in words.
    text: String,
}

graph_sdk::node! { summary: "Negotiates a number: gives way step by step down to its limit.", run }

fn run(params: Params, _ctx: &Context) -> Result<Turn, Failure> {
    let Params { party, opening, limit, step, offers } = params;
    if step <= 0 {
        return Err(Failure::invalid_input("`step` has to be greater than 0"));
    }
    // Whoever wants a small number gives way upwards.
    let upwards = opening <= limit;
    let last_of = |mine: bool| offers.iter().rev().find(|offer| (offer.party == party) == mine);
    let own = last_of(true).map(|offer| offer.value);
    let next = match own {
        None => opening,
        Some(value) if upwards => limit.min(value.saturating_add(step)),
        Some(value) => limit.max(value.saturating_sub(step)),
    };
    if let Some(theirs) = last_of(false)
        && (if upwards { theirs.value <= next } else { theirs.value >= next })
    {
        let text = format!("{party} accepts {}", theirs.value);
        return Ok(Turn { offer: Offer { party, value: theirs.value }, does: "accepts", text });
    }
    let mut theirs = offers.iter().rev().filter(|offer| offer.party != party).map(|offer| offer.value);
    let (last, before) = (theirs.next(), theirs.next());
    // Nobody moves any more.
    let (does, text) = if own == Some(next) && last.is_some() && last == before {
        ("gives_up", format!("{party} cannot go beyond {limit}"))
    } else {
        ("offers", format!("{party} offers {next}"))
    };
    Ok(Turn { offer: Offer { party, value: next }, does, text })
}
