//! Shm communicators: sync steps and eager steps among processes.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use tern_fabric::Fabric;
use tern_shm::limits::EAGER_PAYLOADS_OF_TWO;
use tern_shm::{Arrival, EagerStep, Mismatch, ShmComm, ShmMember, ShmWatch, Sight, SyncStep};
use tern_transport::{Doorbell, Transport};

use crate::job::{self, Rank};
use fastrand::Rng;

const ROUNDS: u64 = 400;

/// Each rank writes its round before it arrives; when it leaves, nobody may be behind.
pub(crate) fn nobody_is_early() {
    for (size, slot) in [(2, 0), (3, 255), (8, 17), (20, 5), (70, 200)] {
        let rounds = job::map(&job::memfd(), 4096);
        job::run(size, true, |fabric, me| {
            let mut shm_comm = shm_comm(&fabric, ShmMember { leader: size - 1, slot, rank: me, size });
            let bell = fabric.doorbell();
            let mut random = Rng::with_seed(9 + u64::from(me));
            for round in 1..=ROUNDS {
                rounds[me as usize].store(round, Ordering::Relaxed);
                let sync = next_sync(&mut shm_comm);
                arrive(&shm_comm, sync, &*bell, random.u64(..6));
                for other in &rounds[..size as usize] {
                    assert!(other.load(Ordering::Relaxed) >= round, "somebody is still before the barrier");
                }
            }
        });
    }
}

/// At each sync step all write to the sync buffer and read what the others wrote; two ranks use their flags.
pub(crate) fn sync_steps_move_data() {
    for size in [2, 5, 19] {
        job::run(size, true, |fabric, me| {
            let mut shm_comm = shm_comm(&fabric, ShmMember { leader: 0, slot: 3, rank: me, size });
            let (bell, mut random) = (fabric.doorbell(), Rng::with_seed(5 + u64::from(me)));
            for round in 0..ROUNDS {
                let sync = next_sync(&mut shm_comm);
                shm_comm.sync_buffer(sync).buf().write(me as usize * 8, &stamp(me, round));
                gather_round(&shm_comm, sync, &*bell, random.u64(..3));
                for rank in 0..size {
                    let mut seen = [0; 8];
                    shm_comm.sync_buffer(sync).buf().read(rank as usize * 8, &mut seen);
                    assert_eq!(seen, stamp(rank, round), "rank {me} read rank {rank} in round {round}");
                }
            }
        });
    }
}

fn gather_round(shm_comm: &ShmComm, sync: SyncStep, bell: &dyn Doorbell, yields: u64) {
    if shm_comm.size() == 2 {
        shm_comm.post(sync, &[0; ShmComm::FLAG_PAYLOAD_BYTES]);
        return wait(shm_comm, &shm_comm.posted(sync, 1 - shm_comm.rank()), bell, yields);
    }
    arrive(shm_comm, sync, bell, yields);
}

fn arrive(shm_comm: &ShmComm, sync: SyncStep, bell: &dyn Doorbell, yields: u64) {
    match shm_comm.arrive(sync) {
        Arrival::Early(watch) => wait(shm_comm, &watch, bell, yields),
        Arrival::Last => shm_comm.open(sync),
        Arrival::Amiss => panic!("all make the same call"),
    }
}

/// That of a call of its own.
fn next_sync(shm_comm: &mut ShmComm) -> SyncStep {
    shm_comm.begin(MARK);
    shm_comm.begin_sync()
}

/// That of a call of its own.
fn next_eager(shm_comm: &mut ShmComm) -> EagerStep {
    shm_comm.begin(MARK);
    shm_comm.begin_eager()
}

/// What all calls here are.
const MARK: u64 = 1 << ShmComm::MARK_BITS_RESERVED;

/// The root of short broadcasts runs ahead of a rank that takes none until the root has to wait for it: as far as there are flags.
pub(crate) fn payloads_are_kept_until_they_are_read() {
    let waits = job::map(&job::memfd(), 4096);
    job::run(2, true, |fabric, me| {
        let mut shm_comm = shm_comm(&fabric, ShmMember { leader: 0, slot: 0, rank: me, size: 2 });
        let bell = fabric.doorbell();
        for round in 0..4 * EAGER_PAYLOADS_OF_TWO as u64 {
            shm_comm.begin(MARK);
            let eager = shm_comm.begin_eager_payload();
            if me == 0 {
                while let Some(behind) = shm_comm.before_eager_write(eager) {
                    assert!(round >= EAGER_PAYLOADS_OF_TWO as u64 - 1, "round {round} waits");
                    waits[0].store(1, Ordering::Relaxed);
                    wait(&shm_comm, &behind, &*bell, 1);
                }
                let mut payload = [0; ShmComm::FLAG_PAYLOAD_BYTES];
                payload[..8].copy_from_slice(&stamp(0, round));
                shm_comm.publish(eager, &payload);
            } else {
                while waits[0].load(Ordering::Relaxed) == 0 {
                    std::thread::yield_now();
                }
                wait(&shm_comm, &shm_comm.published(eager, 0), &*bell, 1);
                assert_eq!(shm_comm.published_payload(eager)[..8], stamp(0, round));
            }
            shm_comm.end_eager(eager);
        }
    });
}

/// Roots take turns; the others read what each published, some slowly. Nothing is written over before all have read it.
pub(crate) fn eager_slots_keep_what_is_not_read() {
    const SIZE: u32 = 4;
    job::run(SIZE, true, |fabric, me| {
        let mut shm_comm = shm_comm(&fabric, ShmMember { leader: 2, slot: 0, rank: me, size: SIZE });
        let (bell, mut random) = (fabric.doorbell(), Rng::with_seed(77 + u64::from(me)));
        for round in 0..ROUNDS {
            let eager = next_eager(&mut shm_comm);
            let root = (round % u64::from(SIZE)) as u32;
            if root == me {
                while let Some(behind) = shm_comm.before_eager_write(eager) {
                    wait(&shm_comm, &behind, &*bell, 1);
                }
                shm_comm.eager_slot(eager).buf().write(100, &stamp(me, round));
                let mut payload = [0; ShmComm::FLAG_PAYLOAD_BYTES];
                payload[..8].copy_from_slice(&stamp(me, round));
                shm_comm.publish(eager, &payload);
            } else {
                wait(&shm_comm, &shm_comm.published(eager, root), &*bell, random.u64(..4));
                if random.u64(..40) == 0 {
                    std::thread::sleep(Duration::from_millis(1));
                }
                let mut seen = [0; 8];
                shm_comm.eager_slot(eager).buf().read(100, &mut seen);
                assert_eq!(seen, stamp(root, round));
                assert_eq!(shm_comm.published_payload(eager)[..8], seen);
            }
            shm_comm.end_eager(eager);
        }
    });
}

/// Never do more ranks read from one than may, nor does a place stay taken.
pub(crate) fn few_read_from_one() {
    const SIZE: u32 = 8;
    let readers = job::map(&job::memfd(), 4096);
    job::run(SIZE, true, |fabric, me| {
        let shm_comm = shm_comm(&fabric, ShmMember { leader: 1, slot: 2, rank: me, size: SIZE });
        for round in 0..ROUNDS {
            let start = Instant::now();
            while !shm_comm.begin_reading(3) {
                assert!(start.elapsed() < Duration::from_secs(5), "places stay taken");
                std::thread::yield_now();
            }
            let before = readers[0].fetch_add(1, Ordering::SeqCst);
            assert!(before < ShmComm::READERS_MAX as u64, "{before} read already");
            if round % 3 == 0 {
                std::thread::yield_now();
            }
            readers[0].fetch_sub(1, Ordering::SeqCst);
            shm_comm.end_reading(3);
        }
    });
}

fn stamp(rank: u32, round: u64) -> [u8; 8] {
    (round << 8 | u64::from(rank)).to_ne_bytes()
}

fn shm_comm(fabric: &Fabric, member: ShmMember) -> ShmComm {
    fabric.shm_comm(member).expect("several ranks")
}

fn wait(shm_comm: &ShmComm, watch: &ShmWatch, bell: &dyn Doorbell, yields: u64) {
    for _ in 0..yields {
        if shm_comm.look(watch) == Sight::Come {
            return;
        }
        std::thread::yield_now();
    }
    let start = Instant::now();
    while shm_comm.look(watch) == Sight::Pending {
        let armed = (yields % 2 == 0).then(|| bell.arm());
        shm_comm.sleep(watch, armed, Some(Duration::from_secs(10)));
    }
    assert_eq!(shm_comm.look(watch), Sight::Come);
    assert!(start.elapsed() < Duration::from_secs(5), "a wake-up was lost");
}

/// Rank 0 sleeps in a sync step that rank 1 comes to only after it had an answer to its message.
pub(crate) fn bell_wakes() {
    job::run(2, false, |fabric: Fabric, me| {
        let mut shm_comm = shm_comm(&fabric, ShmMember { leader: 0, slot: 0, rank: me, size: 2 });
        let bell = fabric.doorbell();
        let mut rank = Rank::new(fabric);
        if me == 1 {
            std::thread::sleep(Duration::from_millis(20));
            rank.send(0, 1, &mut []);
            rank.receive();
        }
        let sync = next_sync(&mut shm_comm);
        let Arrival::Early(watch) = shm_comm.arrive(sync) else { return shm_comm.open(sync) };
        let start = Instant::now();
        while shm_comm.look(&watch) == Sight::Pending {
            let armed = bell.arm();
            if rank.fabric.poll(&mut rank.mail) || shm_comm.look(&watch) == Sight::Come {
                bell.disarm();
            } else {
                shm_comm.sleep(&watch, Some(armed), Some(Duration::from_secs(10)));
            }
            if rank.mail.messages.pop_front().is_some() {
                rank.send(1, 2, &mut []);
            }
        }
        assert!(start.elapsed() < Duration::from_secs(5), "the bell was not heard");
    });
}

/// A slot is cleared for its next shm communicator only once all of the last one have left, and that one may be of another size.
pub(crate) fn slots_are_used_again() {
    job::run(3, false, |fabric, me| {
        let bell = fabric.doorbell();
        let mut world = shm_comm(&fabric, ShmMember { leader: 0, slot: 0, rank: me, size: 3 });
        for (turn, size) in [3, 2, 3].into_iter().enumerate() {
            // A sync step over the world's slot, so that nobody comes before the leader has cleared.
            if me == 0 && turn > 0 {
                let last = [3, 2, 3][turn - 1];
                while !fabric.clear_shm_slot(1, last) {
                    std::thread::yield_now();
                }
            }
            let sync = next_sync(&mut world);
            arrive(&world, sync, &*bell, 1);
            if me >= size {
                continue;
            }
            let mut shm_comm = shm_comm(&fabric, ShmMember { leader: 0, slot: 1, rank: me, size });
            for _ in 0..40 {
                let eager = next_eager(&mut shm_comm);
                while let Some(behind) = shm_comm.before_eager_write(eager) {
                    wait(&shm_comm, &behind, &*bell, 1);
                }
                shm_comm.end_eager(eager);
                let sync = next_sync(&mut shm_comm);
                gather_round(&shm_comm, sync, &*bell, 2);
            }
            shm_comm.leave();
        }
    });
}

/// In some rounds one rank makes another call, by a sync step, an eager step or not at all: all that wait for it leave the call, and the
/// next one is right, however late the others are.
pub(crate) fn those_who_differ_part_and_synchronize_again() {
    for size in [2, 3, 5, 18] {
        job::run(size, true, |fabric, me| {
            let mut shm_comm = shm_comm(&fabric, ShmMember { leader: 0, slot: 4, rank: me, size });
            let (bell, mut random) = (fabric.doorbell(), Rng::with_seed(31 + u64::from(me)));
            // The same at all ranks.
            let mut plan = Rng::with_seed(8);
            for round in 0..ROUNDS {
                let (odd, how) = (plan.u32(..size), plan.u32(..6));
                if random.u64(..30) == 0 {
                    std::thread::sleep(Duration::from_micros(300));
                }
                if how < 3 {
                    part(&mut shm_comm, me == odd, how, &*bell);
                }
                let sync = next_settled_sync(&mut shm_comm, &*bell);
                shm_comm.sync_buffer(sync).buf().write(me as usize * 8, &stamp(me, round));
                gather_round(&shm_comm, sync, &*bell, random.u64(..3));
                for rank in 0..size {
                    let mut seen = [0; 8];
                    shm_comm.sync_buffer(sync).buf().read(rank as usize * 8, &mut seen);
                    assert_eq!(seen, stamp(rank, round), "rank {me} read rank {rank} in round {round}");
                }
            }
        });
    }
}

fn next_settled_sync(shm_comm: &mut ShmComm, bell: &dyn Doorbell) -> SyncStep {
    while let Some(watch) = shm_comm.unsettled() {
        wait(shm_comm, &watch, bell, 1);
    }
    next_sync(shm_comm)
}

/// A call in which one rank is `odd`: all find out.
fn part(shm_comm: &mut ShmComm, odd: bool, how: u32, bell: &dyn Doorbell) {
    while let Some(watch) = shm_comm.unsettled() {
        wait(shm_comm, &watch, bell, 1);
    }
    let me = shm_comm.rank();
    shm_comm.begin(if odd { 2 * MARK } else { MARK });
    let watch = match (odd, how) {
        (false, _) | (true, 0) => {
            let sync = shm_comm.begin_sync();
            shm_comm.sync_buffer(sync).buf().write(0, &[0xee; 64]);
            match (shm_comm.size(), shm_comm.arrive(sync)) {
                (_, Arrival::Early(watch)) => Some(watch),
                (_, Arrival::Last) => panic!("one differs"),
                (_, Arrival::Amiss) => None,
            }
        }
        (true, 1) => {
            let eager = shm_comm.begin_eager();
            Some(shm_comm.contributed(eager, if me == 0 { 1 } else { 0 }))
        }
        (true, _) => None,
    };
    let found = watch.map(|watch| part_at(shm_comm, &watch, bell));
    assert!(!matches!(found, Some(Mismatch::Unlike { rank, .. }) if rank == me));
    shm_comm.abandon();
}

/// Why what is watched does not come.
fn part_at(shm_comm: &ShmComm, watch: &ShmWatch, bell: &dyn Doorbell) -> Mismatch {
    let start = Instant::now();
    loop {
        assert!(start.elapsed() < Duration::from_secs(5), "nobody says that the calls differ");
        match shm_comm.look(watch) {
            Sight::Come => panic!("one differs"),
            Sight::Amiss => return shm_comm.mismatch(watch),
            Sight::Pending => {}
        }
        if let Some(found) = shm_comm.obstacle(watch) {
            return found;
        }
        let armed = Some(bell.arm());
        shm_comm.sleep(watch, armed, Some(Duration::from_micros(200)));
    }
}
