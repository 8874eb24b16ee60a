//! The schedules of all ranks of a job: what each would build for its call.

use crate::job::{Job, Work};
use crate::params::{Distance, Params};
use crate::topology::Topology;
use tern_coll::{
    Buf, Call, Collective, Comm, Data, Layout, Machines, Neighbors, Numbers, Pairing, Peer, Root, Schedule,
    Span, Ty, Types, Vector, build, build_with,
};
use tern_engine::Settings;

/// What all ranks of a job know of their call; kept once for all.
pub struct Program {
    job: Job,
    /// The one datatype: numbers of 8 bytes, or bytes where the length is no multiple of 8.
    element: Layout,
    count: u64,
    machines: Option<Machines>,
    /// Bytes of a multicast at most, if the network has that.
    multicast: Option<u64>,
    /// Messages among the ranks of a machine are sent where they could be got.
    by_cells: bool,
    arrays: Arrays,
}

/// The arguments of the calls that have one for each rank; empty for the others.
#[derive(Default)]
struct Arrays {
    counts: Vec<i64>,
    displs: Vec<i64>,
    layouts: Vec<Layout>,
}

impl Program {
    /// The program of a job.
    pub fn new(job: &Job, params: &Params) -> Program {
        let size = if job.bytes % 8 == 0 { 8 } else { 1 };
        let (element, count) = (Layout::dense(size), job.bytes / size);
        let machines = Topology::new(params).machines(job.ranks);
        let arrays = Arrays::new(job, element, count);
        let machines = (machines.count() > 1).then_some(machines);
        let bytes_max = Settings::default().cast_bytes_max() as u64;
        let multicast = params.multicast.then_some(bytes_max);
        let by_cells = params.levels[Distance::Host as usize].sends;
        Program { job: job.clone(), element, count, machines, multicast, by_cells, arrays }
    }

    /// Bytes of one element.
    pub fn element_bytes(&self) -> u64 {
        self.element.size
    }

    /// Whether payloads go by cells within a machine, as collectives have to know.
    pub(crate) fn by_cells(&self) -> bool {
        self.by_cells
    }

    /// The job.
    pub fn job(&self) -> &Job {
        &self.job
    }

    /// Builds a part of a rank's schedule for a call, numbered from 1: see [`Schedule::look_at`].
    pub fn build(&self, rank: u32, call: u32, from: usize, steps_min: usize, schedule: &mut Schedule) {
        schedule.look_at(from, steps_min);
        match self.job.work {
            Work::Collective(collective) => self.build_collective(collective, rank, call, schedule),
            Work::PingPong => self.build_ping_pong(rank, schedule),
        }
    }

    fn build_collective(&self, collective: Collective, rank: u32, call: u32, schedule: &mut Schedule) {
        let comm = self.comm(rank);
        let around = self.around(rank);
        let call = self.call(collective, self.job.root_of(call), Program::ring(&around));
        match self.job.choice {
            Some(choice) => build_with(choice, &comm, &call, schedule),
            None => build(&comm, &call, &[], schedule),
        }
    }

    /// A rank of the job.
    pub fn comm(&self, rank: u32) -> Comm<'_> {
        let comm = Comm::intra(rank, self.job.ranks);
        let comm = self.machines.as_ref().map_or(comm, |machines| comm.on(machines));
        self.multicast.map_or(comm, |bytes_max| comm.with_multicast(bytes_max))
    }

    /// The neighbours of a rank on a ring: the one before and the one after.
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
        let Work::Collective(collective) = self.job.work else { return self.job.bytes };
        let (send, recv) = crate::definition::lengths(self, collective);
        send.max(recv) as u64
    }

    /// The call, as every rank makes it.
    pub fn call<'a>(&'a self, collective: Collective, root: u32, around: Neighbors<'a>) -> Call<'a> {
        use Collective as C;
        let (data, vector, each) =
            (Data::new(self.count, self.element), self.vector(), self.vector_of_each());
        let (root, in_place, commutative) = (Root::Rank(root), false, true);
        let (send, recv) = (data, data);
        match collective {
            C::Barrier => Call::Barrier,
            C::Bcast => Call::Bcast { data, root },
            C::Gather => Call::Gather { send: Some(send), recv, root },
            C::Gatherv => Call::Gatherv { send: Some(send), recv: vector, root },
            C::Scatter => Call::Scatter { send, recv: Some(recv), root },
            C::Scatterv => Call::Scatterv { send: vector, recv: Some(recv), root },
            C::Allgather => Call::Allgather { send: Some(send), recv },
            C::Allgatherv => Call::Allgatherv { send: Some(send), recv: vector },
            C::Alltoall => Call::Alltoall { send: Some(send), recv },
            C::Alltoallv => Call::Alltoallv { send: Some(vector), recv: vector },
            C::Alltoallw => Call::Alltoallw { send: Some(each), recv: each },
            C::Reduce => Call::Reduce { data, in_place, commutative, root },
            C::Allreduce => Call::Allreduce { data, in_place, commutative },
            C::ReduceScatter => {
                Call::ReduceScatter { counts: vector.counts, layout: self.element, in_place, commutative }
            }
            C::ReduceScatterBlock => Call::ReduceScatterBlock { data, in_place, commutative },
            C::Scan => Call::Scan { data, in_place },
            C::Exscan => Call::Exscan { data, in_place },
            C::NeighborAllgather => Call::NeighborAllgather { around, send, recv },
            C::NeighborAllgatherv => Call::NeighborAllgatherv { around, send, recv: vector },
            C::NeighborAlltoall => Call::NeighborAlltoall { around, send, recv },
            C::NeighborAlltoallv => Call::NeighborAlltoallv { around, send: vector, recv: vector },
            C::NeighborAlltoallw => Call::NeighborAlltoallw { around, send: each, recv: each },
        }
    }

    fn vector(&self) -> Vector<'_> {
        let Arrays { counts, displs, .. } = &self.arrays;
        Vector { counts: Numbers::I64(counts), displs: Numbers::I64(displs), types: Types::One(self.element) }
    }

    fn vector_of_each(&self) -> Vector<'_> {
        Vector { types: Types::Each(&self.arrays.layouts), ..self.vector() }
    }

    /// To and fro between the first and the last rank.
    fn build_ping_pong(&self, rank: u32, schedule: &mut Schedule) {
        let last = self.job.ranks - 1;
        let message = |buf, ty| Span::new(buf, self.count, ty, self.element);
        let (out, into) = (message(Buf::Send, Ty::Send), message(Buf::Recv, Ty::Recv));
        if rank == 0 {
            schedule.send(Peer::Local(last), out);
            schedule.wait();
            schedule.recv(Peer::Local(last), into);
        } else if rank == last {
            schedule.recv(Peer::Local(0), into);
            schedule.wait();
            schedule.send(Peer::Local(0), out);
        }
        schedule.wait();
    }
}

impl Arrays {
    fn new(job: &Job, element: Layout, count: u64) -> Arrays {
        use Collective::*;
        let (ranks, in_bytes) = match job.work {
            Work::Collective(Gatherv | Scatterv | Allgatherv | Alltoallv | ReduceScatter) => {
                (job.ranks, false)
            }
            Work::Collective(Alltoallw) => (job.ranks, true),
            Work::Collective(NeighborAllgatherv | NeighborAlltoallv) => (2, false),
            Work::Collective(NeighborAlltoallw) => (2, true),
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
