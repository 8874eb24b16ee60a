//! What the standard says that every rank has before and after a collective, written as its definition.

use crate::program::RankProgram;
use tern_coll::Collective;

/// What a rank's send and receive buffers hold before a call.
pub fn before(program: &RankProgram, collective: Collective, rank: u32) -> [Vec<u8>; 2] {
    let (send, recv) = program.lengths(collective);
    let job = program.job();
    let mut received = vec![0; recv];
    if collective == Collective::Bcast && rank == job.root {
        received = data(rank, recv);
    }
    [data(rank, send), received]
}

/// What a rank's receive buffer holds after it.
pub fn after(program: &RankProgram, collective: Collective, rank: u32) -> Vec<u8> {
    use Collective as C;
    let job = program.job();
    let (ranks, root, b) = (job.ranks, job.root, job.bytes as usize);
    let (send, recv) = program.lengths(collective);
    let block = |from: u32, index: u32| data(from, send)[index as usize * b..][..b].to_vec();
    let total = |from: std::ops::Range<u32>, index: u32| {
        let sum = |all: Vec<u8>, one: u32| sum(&all, &block(one, index), program.element_bytes());
        from.fold(vec![0; b], sum)
    };
    let around = [(rank + ranks - 1) % ranks, (rank + 1) % ranks];
    match collective {
        C::Gather | C::Gatherv | C::Reduce if rank != root => vec![0; recv],
        C::Exscan if rank == 0 => vec![0; recv],
        C::Barrier => Vec::new(),
        C::Bcast => data(root, recv),
        C::Gather | C::Gatherv | C::Allgather | C::Allgatherv => {
            (0..ranks).flat_map(|from| block(from, 0)).collect()
        }
        C::Scatter | C::Scatterv => block(root, rank),
        C::Alltoall | C::Alltoallv | C::Alltoallw => (0..ranks).flat_map(|from| block(from, rank)).collect(),
        C::Reduce | C::Allreduce => total(0..ranks, 0),
        C::ReduceScatter | C::ReduceScatterBlock => total(0..ranks, rank),
        C::Scan => total(0..rank + 1, 0),
        C::Exscan => total(0..rank, 0),
        C::NeighborAllgather | C::NeighborAllgatherv => {
            around.iter().flat_map(|&from| block(from, 0)).collect()
        }
        // The neighbor before has sent its block for the one after it, and the other way round.
        C::NeighborAlltoall | C::NeighborAlltoallv | C::NeighborAlltoallw => {
            [block(around[0], 1), block(around[1], 0)].concat()
        }
    }
}

/// What a rank's part of a window holds after each rank has put its block to so many behind it.
pub fn after_puts(program: &RankProgram, targets: u32, rank: u32) -> Vec<u8> {
    let job = program.job();
    let mut all = after(program, Collective::Alltoall, rank);
    for (from, block) in (0..job.ranks).zip(all.chunks_mut(job.bytes.max(1) as usize)) {
        let distance = (rank + job.ranks - from) % job.ranks;
        if distance == 0 || distance > targets {
            block.fill(0);
        }
    }
    all
}

/// A rank's own bytes: any, but different for ranks and places.
fn data(rank: u32, len: usize) -> Vec<u8> {
    let byte = |index: usize| (rank as usize * 131 + index * 17 + index / 256 * 7) as u8;
    (0..len).map(byte).collect()
}

/// The sum of two vectors of numbers of so many bytes, modulo their range.
pub fn sum(left: &[u8], right: &[u8], element_bytes: u64) -> Vec<u8> {
    if element_bytes != 8 {
        return left.iter().zip(right).map(|(left, right)| left.wrapping_add(*right)).collect();
    }
    let number = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("chunks of eight bytes"));
    let pairs = left.chunks_exact(8).zip(right.chunks_exact(8));
    pairs.flat_map(|(left, right)| number(left).wrapping_add(number(right)).to_le_bytes()).collect()
}
