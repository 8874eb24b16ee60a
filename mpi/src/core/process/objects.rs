//! What handles name.

use crate::comm::attributes::Keyvals;
use crate::comm::object::Comms;
use crate::core::handle::HandleKind;
use crate::core::table::Table;
use crate::env::error_codes::Errors;
use crate::env::handlers::Errhandlers;
use crate::p2p::request::Requests;
use tern_abi::MPI_Request;
use tern_engine::Group;

/// The objects of all kinds, and what belongs to them.
pub struct Objects {
    /// Communicators.
    pub comms: Comms,
    /// In a forked child: those of its parent. None is found any more, but their error handlers still decide.
    pub parents_comms: Comms,
    /// Groups made by the program.
    pub groups: Table<Group>,
    /// Datatypes made by the program.
    pub types: crate::datatype::object::Datatypes,
    /// Operations made by the program.
    pub ops: crate::coll::op::Ops,
    /// Info objects.
    pub infos: crate::env::info::Infos,
    /// Attribute keys.
    pub keyvals: Keyvals,
    /// Error handlers.
    pub errhandlers: Errhandlers,
    /// Error classes and codes of the program, and the last messages.
    pub errors: Errors,
    /// Requests that are more than one message.
    pub requests: Requests,
    /// Collectives under way that are requests.
    pub collectives: Vec<MPI_Request>,
    /// Messages that a matched probe has taken out.
    pub messages: Table<crate::p2p::probe::Message>,
    /// Buffers of buffered mode.
    pub bsend: crate::p2p::buffers::Buffers,
    /// Windows.
    pub windows: crate::rma::object::Windows,
    /// Files.
    pub files: crate::file::object::OpenFiles,
    /// Sessions.
    pub sessions: crate::env::session::Sessions,
}

impl Objects {
    /// None yet, but for what the standard predefines.
    pub const fn new() -> Self {
        Objects {
            comms: Comms::new(),
            parents_comms: Comms::new(),
            groups: Table::new(HandleKind::Group),
            types: crate::datatype::object::Datatypes::new(),
            ops: crate::coll::op::Ops::new(),
            infos: crate::env::info::Infos::new(),
            keyvals: Keyvals::new(),
            errhandlers: Errhandlers::new(),
            errors: Errors::new(),
            requests: Requests::new(),
            collectives: Vec::new(),
            messages: Table::new(HandleKind::Message),
            bsend: crate::p2p::buffers::Buffers::new(),
            windows: crate::rma::object::Windows::new(),
            files: crate::file::object::OpenFiles::new(),
            sessions: crate::env::session::Sessions::new(),
        }
    }

    /// MPI ends: communicators and windows are gone, the program's handles invalid.
    pub fn forget_all(&mut self) {
        self.comms = Comms::new();
        self.windows = crate::rma::object::Windows::new();
        self.files.forget();
    }
}
