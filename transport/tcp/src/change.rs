//! What becomes of connections, for whoever wants to know.

/// What has become of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// It broke.
    Lost,
    /// It was made again.
    Resumed,
    /// The peer cannot be reached any more.
    Failed,
}
