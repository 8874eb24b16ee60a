//! The schedules of all ranks of a job: what each would build for its call.

use crate::job::{PayloadBytes, RankWork, SimulatedJob};
use crate::params::{Distance, Params};
use crate::topology::RankTopology;
use tern_coll::{
    Buf, Collective, CollectiveCall, CommView, Neighbors, Nodes, NumberArray, Pairing, Root, Schedule, Span,
    StepPeer, Ty, TypeLayout, TypedCount, Vector, VectorTypes, build, build_with,
};
use tern_engine::EngineSettings;

/// What all ranks of a job know of their call; kept once for all.
pub struct RankProgram {
    job: SimulatedJob,
    /// The one datatype: numbers of 8 bytes, or bytes where the length is no multiple of 8.
    element: TypeLayout,
    count: u64,
    nodes: Option<Nodes>,
    /// Bytes of a multicast at most, if the network has that.
    multicast: Option<u64>,
    /// Messages among the ranks of a node are sent where they could be got.
    by_cells: bool,
    arrays: Arrays,
}

/// The arguments of the calls that have one for each rank; empty for the others.
#[derive(Default)]
struct Arrays {
    counts: Vec<i64>,
    displs: Vec<i64>,
    layouts: Vec<TypeLayout>,
}

impl RankProgram {
    /// The program of a job.
    pub fn new(job: &SimulatedJob, params: &Params) -> RankProgram {
        let size = if job.bytes % 8 == 0 { 8 } else { 1 };
        let (element, count) = (TypeLayout::contiguous(size), job.bytes / size);
        let nodes = RankTopology::new(params).nodes(job.ranks);
        let arrays = Arrays::new(job, element, count);
        let nodes = (nodes.count() > 1).then_some(nodes);
        let bytes_max = EngineSettings::default().multicast_bytes_max() as u64;
        let multicast = params.multicast.then_some(bytes_max);
        let by_cells = params.levels[Distance::Host as usize].prefers_send;
        RankProgram { job: job.clone(), element, count, nodes, multicast, by_cells, arrays }
    }

    /// Bytes of one element.
    pub fn element_bytes(&self) -> u64 {
        self.element.size
    }

    /// Whether payloads go by cells within a node, as collectives have to know.
    pub(crate) fn by_cells(&self) -> bool {
        self.by_cells
    }

    /// The job.
    pub fn job(&self) -> &SimulatedJob {
        &self.job
    }

    /// Bytes of the send and the receive buffer.
    pub(crate) fn lengths(&self, collective: Collective) -> (usize, usize) {
        use Collective as C;
        let (one, ranks) = (self.job().bytes as usize, self.job().ranks as usize);
        let all = one * ranks;
        match collective {
            C::Barrier => (0, 0),
            C::Bcast => (0, one),
            C::Gather | C::Gatherv | C::Allgather | C::Allgatherv => (one, all),
            C::Scatter | C::Scatterv | C::ReduceScatter | C::ReduceScatterBlock => (all, one),
            C::Alltoall | C::Alltoallv | C::Alltoallw => (all, all),
            C::Reduce | C::Allreduce | C::Scan | C::Exscan => (one, one),
            C::NeighborAllgather | C::NeighborAllgatherv => (one, 2 * one),
            C::NeighborAlltoall | C::NeighborAlltoallv | C::NeighborAlltoallw => (2 * one, 2 * one),
        }
    }

    /// Builds a part of a rank's schedule for a call, numbered from 1: see [`Schedule::look_at`].
    pub fn build(&self, rank: u32, call: u32, from: usize, steps_min: usize, schedule: &mut Schedule) {
        schedule.look_at(from, steps_min);
        match self.job.work {
            RankWork::Collective(collective) => self.build_collective(collective, rank, call, schedule),
            RankWork::PingPong => self.build_ping_pong(rank, schedule),
            RankWork::Window(_) => self.build_collective(Collective::Barrier, rank, call, schedule),
        }
    }

    fn build_collective(&self, collective: Collective, rank: u32, call: u32, schedule: &mut Schedule) {
        let comm = self.comm(rank);
        let around = self.around(rank);
        let call = self.call(collective, self.job.root_of(call), RankProgram::ring(&around));
        match self.job.choice {
            Some(choice) => build_with(choice, &comm, &call, schedule),
            None => build(&comm, &call, &[], schedule),
        }
    }

    /// A rank of the job.
    pub fn comm(&self, rank: u32) -> CommView<'_> {
        let comm = CommView::intra(rank, self.job.ranks);
        let comm = self.nodes.as_ref().map_or(comm, |nodes| comm.on(nodes));
        self.multicast.map_or(comm, |bytes_max| comm.with_multicast(bytes_max))
    }

    /// The neighbors of a rank on a ring: the one before and the one after.
    pub(crate) fn around(&self, rank: u32) -> [Option<u32>; 2] {
        let member = self.comm(rank).member();
        [member.before(1), member.after(1)].map(Some)
    }

    /// As a call has them.
    pub(crate) fn ring(around: &[Option<u32>; 2]) -> Neighbors<'_> {
        Neighbors { sources: around, destinations: around, pairing: Pairing::Opposite }
    }

    /// Bytes of the larger of a rank's buffers.
    pub(crate) fn buffer_bytes(&self) -> u64 {
        let collective = match self.job.work {
            RankWork::Collective(collective) => collective,
            // Only what moves bytes has the whole window.
            RankWork::Window(_) if self.job.payload == PayloadBytes::Bytes => Collective::Alltoall,
            RankWork::Window(_) | RankWork::PingPong => return self.job.bytes,
        };
        let (send, recv) = self.lengths(collective);
        send.max(recv) as u64
    }

    /// The call, as every rank makes it.
    pub fn call<'a>(
        &'a self,
        collective: Collective,
        root: u32,
        around: Neighbors<'a>,
    ) -> CollectiveCall<'a> {
        use Collective as C;
        let (data, vector, each) =
            (TypedCount::new(self.count, self.element), self.vector(), self.vector_of_each());
        let (root, in_place, commutative) = (Root::Rank(root), false, true);
        let (send, recv) = (data, data);
        match collective {
            C::Barrier => CollectiveCall::Barrier,
            C::Bcast => CollectiveCall::Bcast { data, root },
            C::Gather => CollectiveCall::Gather { send: Some(send), recv, root },
            C::Gatherv => CollectiveCall::Gatherv { send: Some(send), recv: vector, root },
            C::Scatter => CollectiveCall::Scatter { send, recv: Some(recv), root },
            C::Scatterv => CollectiveCall::Scatterv { send: vector, recv: Some(recv), root },
            C::Allgather => CollectiveCall::Allgather { send: Some(send), recv },
            C::Allgatherv => CollectiveCall::Allgatherv { send: Some(send), recv: vector },
            C::Alltoall => CollectiveCall::Alltoall { send: Some(send), recv },
            C::Alltoallv => CollectiveCall::Alltoallv { send: Some(vector), recv: vector },
            C::Alltoallw => CollectiveCall::Alltoallw { send: Some(each), recv: each },
            C::Reduce => CollectiveCall::Reduce { data, in_place, commutative, root },
            C::Allreduce => CollectiveCall::Allreduce { data, in_place, commutative },
            C::ReduceScatter => CollectiveCall::ReduceScatter {
                counts: vector.counts,
                layout: self.element,
                in_place,
                commutative,
            },
            C::ReduceScatterBlock => CollectiveCall::ReduceScatterBlock { data, in_place, commutative },
            C::Scan => CollectiveCall::Scan { data, in_place },
            C::Exscan => CollectiveCall::Exscan { data, in_place },
            C::NeighborAllgather => CollectiveCall::NeighborAllgather { around, send, recv },
            C::NeighborAllgatherv => CollectiveCall::NeighborAllgatherv { around, send, recv: vector },
            C::NeighborAlltoall => CollectiveCall::NeighborAlltoall { around, send, recv },
            C::NeighborAlltoallv => CollectiveCall::NeighborAlltoallv { around, send: vector, recv: vector },
            C::NeighborAlltoallw => CollectiveCall::NeighborAlltoallw { around, send: each, recv: each },
        }
    }

    fn vector(&self) -> Vector<'_> {
        let Arrays { counts, displs, .. } = &self.arrays;
        Vector {
            counts: NumberArray::I64(counts),
            displs: NumberArray::I64(displs),
            types: VectorTypes::One(self.element),
        }
    }

    fn vector_of_each(&self) -> Vector<'_> {
        Vector { types: VectorTypes::Each(&self.arrays.layouts), ..self.vector() }
    }

    /// To and fro between the first and the last rank.
    fn build_ping_pong(&self, rank: u32, schedule: &mut Schedule) {
        let last = self.job.ranks - 1;
        let message = |buf, ty| Span::new(buf, self.count, ty, self.element);
        let (out, into) = (message(Buf::Send, Ty::Send), message(Buf::Recv, Ty::Recv));
        if rank == 0 {
            schedule.send(StepPeer::Local(last), out);
            schedule.wait();
            schedule.recv(StepPeer::Local(last), into);
        } else if rank == last {
            schedule.recv(StepPeer::Local(0), into);
            schedule.wait();
            schedule.send(StepPeer::Local(0), out);
        }
        schedule.wait();
    }
}

impl Arrays {
    fn new(job: &SimulatedJob, element: TypeLayout, count: u64) -> Arrays {
        use Collective::*;
        let (ranks, in_bytes) = match job.work {
            RankWork::Collective(Gatherv | Scatterv | Allgatherv | Alltoallv | ReduceScatter) => {
                (job.ranks, false)
            }
            RankWork::Collective(Alltoallw) => (job.ranks, true),
            RankWork::Collective(NeighborAllgatherv | NeighborAlltoallv) => (2, false),
            RankWork::Collective(NeighborAlltoallw) => (2, true),
            _ => return Arrays::default(),
        };
        let unit = if in_bytes { count * element.size } else { count } as i64;
        Arrays {
            counts: vec![count as i64; ranks as usize],
            displs: (0..i64::from(ranks)).map(|rank| rank * unit).collect(),
            layouts: if in_bytes { vec![element; ranks as usize] } else { Vec::new() },
        }
    }
}
