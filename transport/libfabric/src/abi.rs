//! The part of libfabric's binary interface that is used: `rdma/fabric.h` and its kin, as of symbol version FABRIC_1.3.
//!
//! The library hands out objects. Each begins with its class and a table of functions, and what a caller does is to call through
//! those tables. A table begins with its size, and releases add functions at its end only.

#![allow(missing_docs, reason = "names and meanings are the library's")]

use std::ffi::{c_char, c_int, c_void};

pub(crate) const MSG: u64 = 1 << 1;
pub(crate) const RMA: u64 = 1 << 2;
pub(crate) const READ: u64 = 1 << 8;
pub(crate) const WRITE: u64 = 1 << 9;
pub(crate) const REMOTE_READ: u64 = 1 << 12;
pub(crate) const REMOTE_WRITE: u64 = 1 << 13;
pub(crate) const COMPLETION: u64 = 1 << 24;
pub(crate) const DELIVERY_COMPLETE: u64 = 1 << 28;
pub(crate) const RECV: u64 = 1 << 10;
pub(crate) const SEND: u64 = 1 << 11;
pub(crate) const MULTI_RECV: u64 = 1 << 16;
pub(crate) const CONTEXT: u64 = 1 << 59;
pub(crate) const CONTEXT2: u64 = 1 << 52;
pub(crate) const ORDER_SAS: u64 = 1 << 8;
pub(crate) const MR_LOCAL: c_int = 1 << 2;
pub(crate) const MR_VIRT_ADDR: c_int = 1 << 4;
pub(crate) const MR_ALLOCATED: c_int = 1 << 5;
pub(crate) const MR_PROV_KEY: c_int = 1 << 6;
pub(crate) const MR_ENDPOINT: c_int = 1 << 9;
pub(crate) const EP_RDM: c_int = 3;
pub(crate) const THREAD_DOMAIN: c_int = 3;
pub(crate) const RM_ENABLED: c_int = 2;
pub(crate) const AV_TABLE: c_int = 2;
pub(crate) const WAIT_NONE: c_int = 0;
pub(crate) const WAIT_FD: c_int = 3;
pub(crate) const CQ_FORMAT_DATA: c_int = 3;
pub(crate) const GETWAIT: c_int = 5;
pub(crate) const ENABLE: c_int = 6;
pub(crate) const OPT_ENDPOINT: c_int = 0;
pub(crate) const OPT_MIN_MULTI_RECV: c_int = 0;
pub(crate) const SOCKADDR_IN: u32 = 2;
pub(crate) const ADDR_UNSPEC: u64 = u64::MAX;
pub(crate) const EAVAIL: isize = 259;

/// The version whose meaning of `mr_mode` and the rest is expected.
pub(crate) const API_VERSION: u32 = (1 << 16) | 11;

#[repr(C)]
pub(crate) struct FiInfo {
    pub next: *mut FiInfo,
    pub caps: u64,
    pub mode: u64,
    pub addr_format: u32,
    pub src_addrlen: usize,
    pub dest_addrlen: usize,
    pub src_addr: *mut c_void,
    pub dest_addr: *mut c_void,
    pub handle: *mut Fid,
    pub tx_attr: *mut TxAttr,
    pub rx_attr: *mut RxAttr,
    pub ep_attr: *mut EpAttr,
    pub domain_attr: *mut DomainAttr,
    pub fabric_attr: *mut FabricAttr,
    pub nic: *mut c_void,
}

impl FiInfo {
    /// A library of that name that is another one may leave some out.
    pub(crate) fn has_all_parts(&self) -> bool {
        let ends = self.tx_attr.is_null() || self.rx_attr.is_null() || self.ep_attr.is_null();
        !(ends || self.domain_attr.is_null() || self.fabric_attr.is_null())
    }
}

#[repr(C)]
pub(crate) struct TxAttr {
    pub caps: u64,
    pub mode: u64,
    pub op_flags: u64,
    pub msg_order: u64,
    pub comp_order: u64,
    pub inject_size: usize,
    pub size: usize,
    pub iov_limit: usize,
    pub rma_iov_limit: usize,
    pub tclass: u32,
}

#[repr(C)]
pub(crate) struct RxAttr {
    pub caps: u64,
    pub mode: u64,
    pub op_flags: u64,
    pub msg_order: u64,
    pub comp_order: u64,
    pub total_buffered_recv: usize,
    pub size: usize,
    pub iov_limit: usize,
}

#[repr(C)]
pub(crate) struct EpAttr {
    pub kind: c_int,
    pub protocol: u32,
    pub protocol_version: u32,
    pub max_msg_size: usize,
    pub msg_prefix_size: usize,
    pub max_order_raw_size: usize,
    pub max_order_war_size: usize,
    pub max_order_waw_size: usize,
    pub mem_tag_format: u64,
    pub tx_ctx_cnt: usize,
    pub rx_ctx_cnt: usize,
    pub auth_key_size: usize,
    pub auth_key: *mut u8,
}

/// As far as it is used; the library allocates it.
#[repr(C)]
pub(crate) struct DomainAttr {
    pub domain: *mut Fid,
    pub name: *mut c_char,
    pub threading: c_int,
    pub control_progress: c_int,
    pub data_progress: c_int,
    pub resource_mgmt: c_int,
    pub av_type: c_int,
    pub mr_mode: c_int,
    pub mr_key_size: usize,
}

/// As far as it is used; the library allocates it.
#[repr(C)]
pub(crate) struct FabricAttr {
    pub fabric: *mut Fid,
    pub name: *mut c_char,
    pub prov_name: *mut c_char,
    pub prov_version: u32,
    pub api_version: u32,
}

#[repr(C)]
pub(crate) struct Fid {
    pub class: usize,
    pub context: *mut c_void,
    pub ops: *const FidOps,
}

#[repr(C)]
pub(crate) struct FidOps {
    pub size: usize,
    pub close: unsafe extern "C" fn(*mut Fid) -> c_int,
    pub bind: unsafe extern "C" fn(*mut Fid, *mut Fid, u64) -> c_int,
    pub control: unsafe extern "C" fn(*mut Fid, c_int, *mut c_void) -> c_int,
}

#[repr(C)]
pub(crate) struct FidFabric {
    pub fid: Fid,
    pub ops: *const FabricOps,
    pub api_version: u32,
}

#[repr(C)]
pub(crate) struct FabricOps {
    pub size: usize,
    pub domain: unsafe extern "C" fn(*mut FidFabric, *mut FiInfo, *mut *mut Domain, *mut c_void) -> c_int,
    pub passive_ep: *const c_void,
    pub eq_open: *const c_void,
    pub wait_open: *const c_void,
    pub trywait: Option<unsafe extern "C" fn(*mut FidFabric, *mut *mut Fid, c_int) -> c_int>,
}

#[repr(C)]
pub(crate) struct Domain {
    pub fid: Fid,
    pub ops: *const DomainOps,
    pub mr: *const MrOps,
}

#[repr(C)]
pub(crate) struct DomainOps {
    pub size: usize,
    pub av_open: unsafe extern "C" fn(*mut Domain, *mut AvAttr, *mut *mut Av, *mut c_void) -> c_int,
    pub cq_open: unsafe extern "C" fn(*mut Domain, *mut CqAttr, *mut *mut Cq, *mut c_void) -> c_int,
    pub endpoint: unsafe extern "C" fn(*mut Domain, *mut FiInfo, *mut *mut Ep, *mut c_void) -> c_int,
}

#[repr(C)]
pub(crate) struct MrOps {
    pub size: usize,
    #[allow(clippy::type_complexity, reason = "the library's signature")]
    pub reg: unsafe extern "C" fn(
        *mut Fid,
        *const c_void,
        usize,
        u64,
        u64,
        u64,
        u64,
        *mut *mut Mr,
        *mut c_void,
    ) -> c_int,
}

#[repr(C)]
pub(crate) struct Mr {
    pub fid: Fid,
    pub mem_desc: *mut c_void,
    pub key: u64,
}

#[repr(C)]
pub(crate) struct AvAttr {
    pub kind: c_int,
    pub rx_ctx_bits: c_int,
    pub count: usize,
    pub ep_per_node: usize,
    pub name: *const c_char,
    pub map_addr: *mut c_void,
    pub flags: u64,
}

#[repr(C)]
pub(crate) struct Av {
    pub fid: Fid,
    pub ops: *const AvOps,
}

#[repr(C)]
pub(crate) struct AvOps {
    pub size: usize,
    pub insert: unsafe extern "C" fn(*mut Av, *const c_void, usize, *mut u64, u64, *mut c_void) -> c_int,
}

#[repr(C)]
pub(crate) struct CqAttr {
    pub size: usize,
    pub flags: u64,
    pub format: c_int,
    pub wait_obj: c_int,
    pub signaling_vector: c_int,
    pub wait_cond: c_int,
    pub wait_set: *mut c_void,
}

#[repr(C)]
pub(crate) struct Cq {
    pub fid: Fid,
    pub ops: *const CqOps,
}

#[repr(C)]
pub(crate) struct CqOps {
    pub size: usize,
    pub read: unsafe extern "C" fn(*mut Cq, *mut c_void, usize) -> isize,
    pub readfrom: *const c_void,
    pub readerr: unsafe extern "C" fn(*mut Cq, *mut CqError, u64) -> isize,
}

/// An operation that has ended well.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct CqEntry {
    pub context: *mut c_void,
    pub flags: u64,
    pub len: usize,
    pub buf: *mut c_void,
    pub data: u64,
}

/// An operation that has failed.
#[repr(C)]
pub(crate) struct CqError {
    pub context: *mut c_void,
    pub flags: u64,
    pub len: usize,
    pub buf: *mut c_void,
    pub data: u64,
    pub tag: u64,
    pub olen: usize,
    pub err: c_int,
    pub prov_errno: c_int,
    pub err_data: *mut c_void,
    pub err_data_size: usize,
    /// Later releases write more here where they were asked for a later version; room for it costs nothing.
    pub beyond: [u64; 4],
}

#[repr(C)]
pub(crate) struct Ep {
    pub fid: Fid,
    pub ops: *const EpOps,
    pub cm: *const CmOps,
    pub msg: *const MsgOps,
    pub rma: *const RmaOps,
}

#[repr(C)]
pub(crate) struct EpOps {
    pub size: usize,
    pub cancel: *const c_void,
    pub getopt: unsafe extern "C" fn(*mut Fid, c_int, c_int, *mut c_void, *mut usize) -> c_int,
    pub setopt: unsafe extern "C" fn(*mut Fid, c_int, c_int, *const c_void, usize) -> c_int,
}

#[repr(C)]
pub(crate) struct CmOps {
    pub size: usize,
    pub setname: *const c_void,
    pub getname: unsafe extern "C" fn(*mut Fid, *mut c_void, *mut usize) -> c_int,
}

#[repr(C)]
pub(crate) struct MsgOps {
    pub size: usize,
    pub recv: unsafe extern "C" fn(*mut Ep, *mut c_void, usize, *mut c_void, u64, *mut c_void) -> isize,
    pub recvv: *const c_void,
    pub recvmsg: unsafe extern "C" fn(*mut Ep, *const Msg, u64) -> isize,
    pub send: unsafe extern "C" fn(*mut Ep, *const c_void, usize, *mut c_void, u64, *mut c_void) -> isize,
    pub sendv: *const c_void,
    pub sendmsg: *const c_void,
    pub inject: unsafe extern "C" fn(*mut Ep, *const c_void, usize, u64) -> isize,
}

#[repr(C)]
pub(crate) struct RmaOps {
    pub size: usize,
    #[allow(clippy::type_complexity, reason = "the library's signature")]
    pub read:
        unsafe extern "C" fn(*mut Ep, *mut c_void, usize, *mut c_void, u64, u64, u64, *mut c_void) -> isize,
    pub readv: *const c_void,
    pub readmsg: *const c_void,
    pub write: *const c_void,
    pub writev: *const c_void,
    pub writemsg: unsafe extern "C" fn(*mut Ep, *const MsgRma, u64) -> isize,
}

#[repr(C)]
pub(crate) struct RmaIov {
    pub addr: u64,
    pub len: usize,
    pub key: u64,
}

#[repr(C)]
pub(crate) struct MsgRma {
    pub iov: *const libc::iovec,
    pub desc: *mut *mut c_void,
    pub iov_count: usize,
    pub addr: u64,
    pub rma_iov: *const RmaIov,
    pub rma_iov_count: usize,
    pub context: *mut c_void,
    pub data: u64,
}

#[repr(C)]
pub(crate) struct Msg {
    pub iov: *const libc::iovec,
    pub desc: *mut *mut c_void,
    pub iov_count: usize,
    pub addr: u64,
    pub context: *mut c_void,
    pub data: u64,
}
