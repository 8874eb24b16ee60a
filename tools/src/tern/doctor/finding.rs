//! What is found on one point, and how bad it is.

/// What was found on one point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(super) what: &'static str,
    pub(super) verdict: Severity,
    pub(super) words: String,
}

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Severity {
    /// As it should be.
    Ok,
    /// It works, but not as well as it could.
    Note,
    /// It is in the way.
    Bad,
}

impl Finding {
    pub(super) fn ok(what: &'static str, words: impl Into<String>) -> Finding {
        Finding { what, verdict: Severity::Ok, words: words.into() }
    }

    pub(super) fn note(what: &'static str, words: impl Into<String>) -> Finding {
        Finding { what, verdict: Severity::Note, words: words.into() }
    }

    pub(super) fn bad(what: &'static str, words: impl Into<String>) -> Finding {
        Finding { what, verdict: Severity::Bad, words: words.into() }
    }
}
