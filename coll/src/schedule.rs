//! What one rank does in a collective: steps over named buffers.

/// A rank's program for one collective.
///
/// Steps run in order. [`Step::Send`], [`Step::Recv`], [`Step::Multicast`] and [`Step::Listen`] only start;
/// [`Step::Wait`] holds the program until everything started before it is complete; [`Step::Reduce`] and [`Step::Copy`] run at once, also while
/// messages are in flight. An algorithm therefore puts a wait between a message and the first step that needs
/// what it brings, or that overwrites what it takes.
///
/// A schedule can be cleared and filled again; its memory is kept, so a blocking call need not allocate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    steps: Vec<Step>,
    temps: Vec<Temp>,
    /// Ranks that multicasts go to, audience after audience.
    listeners: Vec<u32>,
    in_flight: bool,
    window: StepRange,
}

/// Which of the steps are kept: all, or a part. See [`Schedule::look_at`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct StepRange {
    /// The first step that is kept.
    from: usize,
    /// No wait ends the window before so many steps are kept; 0: there is no end.
    steps_min: usize,
    /// Steps that were pushed.
    pushed: usize,
    /// Where the next window begins, once this one is full.
    next: Option<usize>,
}

impl StepRange {
    /// How many steps are kept: all from the first one to the end, or to the wait before the next window.
    fn kept(&self) -> usize {
        let end = self.next.map_or(self.pushed, |next| next - 1);
        end.saturating_sub(self.from)
    }
}

/// One step of a [`Schedule`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Start to send a slice.
    Send {
        /// Who receives it.
        to: StepPeer,
        /// What is sent.
        from: Slice,
    },
    /// Start to receive into a slice.
    Recv {
        /// Who sends it.
        from: StepPeer,
        /// Where it lands.
        into: Slice,
    },
    /// Start to send a slice to several ranks of this process's own group at once. Towards each of them it is a message
    /// in order after earlier multicasts, but not after what is sent to it alone: so in one call, a rank uses only one
    /// of both towards another rank.
    Multicast {
        /// Who receives it.
        to: Audience,
        /// What is sent.
        from: Slice,
    },
    /// As [`Step::Recv`], where what is awaited comes by [`Step::Multicast`].
    Listen {
        /// Who sends it.
        from: StepPeer,
        /// Where it lands.
        into: Slice,
    },
    /// Wait for every send and receive started so far, to one or to many.
    Wait,
    /// `right = left OP right`, element by element: the argument order of `MPI_User_function`, where `left` is
    /// `invec` and `right` is `inoutvec`. `left` always comes from lower ranks, so that operations that do
    /// not commute are right too.
    Reduce {
        /// The operand from lower ranks; only read.
        left: Slice,
        /// The operand from higher ranks; receives the result.
        right: Slice,
    },
    /// Copy the elements of one slice to another of the same packed size. The types may differ: a copy from a
    /// type to [`Ty::Byte`] packs, one from [`Ty::Byte`] unpacks. The slices never overlap.
    Copy {
        /// The source.
        from: Slice,
        /// The destination.
        to: Slice,
    },
}

/// The other side of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum StepPeer {
    /// A rank of this process's own group.
    Local(u32),
    /// A rank of the remote group of an intercommunicator.
    Remote(u32),
}

/// Ranks of a multicast: a part of the list that the schedule keeps. See [`Schedule::listeners`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Audience {
    first: u32,
    count: u32,
}

/// Some elements of one type in one buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    /// The buffer.
    pub buf: Buf,
    /// Bytes from the buffer's address to that of the first element; negative with a negative extent or
    /// displacement.
    pub offset: i64,
    /// Number of elements.
    pub count: u64,
    /// The type of each.
    pub ty: Ty,
}

/// A buffer of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Buf {
    /// The caller's send buffer; never written.
    Send,
    /// The caller's receive buffer; the only buffer of a broadcast.
    Recv,
    /// Temporary memory, an index into [`Schedule::temps`].
    Temp(u32),
}

/// A datatype of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ty {
    /// The send type.
    Send,
    /// The receive type; also the one type of broadcasts and reductions.
    Recv,
    /// The send type towards a rank, in the calls that have one for each (`MPI_Alltoallw`); in
    /// `MPI_Neighbor_alltoallw` towards a neighbor, by its index.
    SendTo(u32),
    /// The receive type from a rank or neighbor, in the calls that have one for each.
    RecvFrom(u32),
    /// Packed bytes.
    Byte,
}

/// Temporary memory that a schedule needs: room for `count` elements of `ty`, placed so that a slice at offset
/// 0 addresses the first element as in a user's buffer (that is, less the true lower bound).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Temp {
    /// Number of elements.
    pub count: u64,
    /// The type of each.
    pub ty: Ty,
}

/// What an algorithm must know of a datatype.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TypeLayout {
    /// Packed bytes of one element (`MPI_Type_size`).
    pub size: u64,
    /// Bytes from one element to the next (`MPI_Type_get_extent`).
    pub extent: i64,
    /// Whether consecutive elements are one piece of memory in packed order that starts at the buffer's
    /// address: true lower bound 0, extent equal to size, no gaps. Then a part of it may be named in bytes.
    pub contiguous: bool,
}

/// A [`Slice`] with the layout of its type: what algorithms compute with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The buffer.
    pub buf: Buf,
    /// Bytes from the buffer's address to that of the first element.
    pub offset: i64,
    /// Number of elements.
    pub count: u64,
    /// The type of each.
    pub ty: Ty,
    /// What is known of the type.
    pub layout: TypeLayout,
}

impl TypeLayout {
    /// The layout of [`Ty::Byte`].
    pub const BYTE: TypeLayout = TypeLayout { size: 1, extent: 1, contiguous: true };

    /// A type without gaps, of this many bytes.
    pub const fn contiguous(size: u64) -> TypeLayout {
        TypeLayout { size, extent: size as i64, contiguous: true }
    }
}

impl Span {
    /// What a signal carries.
    pub const NOTHING: Span =
        Span { buf: Buf::Recv, offset: 0, count: 0, ty: Ty::Byte, layout: TypeLayout::BYTE };

    /// `count` elements from the start of a buffer.
    pub fn new(buf: Buf, count: u64, ty: Ty, layout: TypeLayout) -> Span {
        Span { buf, offset: 0, count, ty, layout }
    }

    /// What goes into a step.
    pub fn slice(&self) -> Slice {
        Slice { buf: self.buf, offset: self.offset, count: self.count, ty: self.ty }
    }

    /// `count` elements from the element `first` on. They need not lie within the span: a span names the place
    /// and type of a block, and its neighbors are found from it.
    pub fn part(&self, first: u64, count: u64) -> Span {
        let distance = self.layout.extent.wrapping_mul(first as i64);
        Span { offset: self.offset.wrapping_add(distance), count, ..*self }
    }

    /// The block `index` of an array of blocks as long as this one, of which this is the first.
    pub fn block(&self, index: u32) -> Span {
        self.part(self.count.wrapping_mul(u64::from(index)), self.count)
    }

    /// `blocks` blocks as long as this one, from the block `first` on.
    pub fn blocks(&self, first: u32, blocks: u32) -> Span {
        let count = self.count.saturating_mul(u64::from(blocks));
        self.part(self.count.wrapping_mul(u64::from(first)), count)
    }

    /// The packed size of all elements.
    pub fn bytes(&self) -> u64 {
        self.count.saturating_mul(self.layout.size)
    }

    /// The same memory as packed bytes, if the type allows it.
    fn as_bytes(&self) -> Option<Span> {
        let bytes = Span { count: self.bytes(), ty: Ty::Byte, layout: TypeLayout::BYTE, ..*self };
        self.layout.contiguous.then_some(bytes)
    }
}

impl Schedule {
    /// An empty schedule.
    pub fn new() -> Schedule {
        Schedule::default()
    }

    /// Empties the schedule and keeps its memory.
    pub fn clear(&mut self) {
        self.steps.clear();
        self.temps.clear();
        self.listeners.clear();
        self.in_flight = false;
        self.window = StepRange::default();
    }

    /// Empties the schedule, and from now on keeps only a part of the steps that an algorithm pushes: those from
    /// number `from` up to the first wait after at least `steps_min` of them. That wait is left out, as the end of a
    /// schedule waits for everything; [`Schedule::next_window`] is the step after it. So whoever executes a million
    /// ranks holds a round of each at a time, and builds the schedule again for the next.
    pub fn look_at(&mut self, from: usize, steps_min: usize) {
        self.clear();
        self.window = StepRange { from, steps_min: steps_min.max(1), ..StepRange::default() };
    }

    /// Where the next window begins; `None` if this one reaches to the end.
    pub fn next_window(&self) -> Option<usize> {
        self.window.next.filter(|&next| next < self.window.pushed)
    }

    fn push(&mut self, step: Step) {
        let window = &mut self.window;
        let number = window.pushed;
        window.pushed += 1;
        if number < window.from || window.next.is_some() {
            return;
        }
        if window.steps_min > 0 && self.steps.len() >= window.steps_min && step == Step::Wait {
            window.next = Some(number + 1);
        } else {
            self.steps.push(step);
        }
        debug_assert_eq!(self.steps.len(), self.window.kept(), "the window has other steps than it says");
    }

    /// Steps that were pushed, whether they are kept or not.
    pub fn pushed(&self) -> usize {
        self.window.pushed
    }

    /// The steps in order.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The temporary memory to provide before the first step.
    pub fn temps(&self) -> &[Temp] {
        &self.temps
    }

    /// The ranks of an audience.
    pub fn listeners(&self, audience: &Audience) -> &[u32] {
        &self.listeners[audience.first as usize..][..audience.count as usize]
    }

    /// Ranks to multicast to, as often as need be. They are other ranks of this process's own group.
    pub fn audience(&mut self, ranks: impl IntoIterator<Item = StepPeer>) -> Audience {
        let first = self.listeners.len();
        self.listeners.extend(ranks.into_iter().map(|peer| match peer {
            StepPeer::Local(rank) => rank,
            StepPeer::Remote(_) => unreachable!("multicasts stay within a group"),
        }));
        Audience { first: first as u32, count: (self.listeners.len() - first) as u32 }
    }

    /// Starts to multicast a span; nothing if nobody listens.
    pub fn multicast(&mut self, to: Audience, from: Span) {
        if to.count > 0 {
            self.push(Step::Multicast { to, from: from.slice() });
            self.in_flight = true;
        }
    }

    /// Starts to receive what a peer multicasts into a span.
    pub fn listen(&mut self, from: StepPeer, into: Span) {
        self.push(Step::Listen { from, into: into.slice() });
        self.in_flight = true;
    }

    /// Starts to send a span. An empty one is sent as an empty message.
    pub fn send(&mut self, to: StepPeer, from: Span) {
        self.send_slice(to, from.slice());
    }

    /// The same of a slice.
    pub fn send_slice(&mut self, to: StepPeer, from: Slice) {
        self.push(Step::Send { to, from });
        self.in_flight = true;
    }

    /// Starts to receive into a span.
    pub fn recv(&mut self, from: StepPeer, into: Span) {
        self.recv_slice(from, into.slice());
    }

    /// The same of a slice.
    pub fn recv_slice(&mut self, from: StepPeer, into: Slice) {
        self.push(Step::Recv { from, into });
        self.in_flight = true;
    }

    /// Sends a span unless it is empty. The peer must know that it is: see [`Schedule::recv_some`].
    pub fn send_some(&mut self, to: StepPeer, from: Span) {
        if from.bytes() > 0 {
            self.send(to, from);
        }
    }

    /// Receives into a span unless it is empty.
    pub fn recv_some(&mut self, from: StepPeer, into: Span) {
        if into.bytes() > 0 {
            self.recv(from, into);
        }
    }

    /// Sends an empty message: a signal.
    pub fn signal(&mut self, to: StepPeer) {
        self.send(to, Span::NOTHING);
    }

    /// Receives an empty message.
    pub fn await_signal(&mut self, from: StepPeer) {
        self.recv(from, Span::NOTHING);
    }

    /// Waits for all that is in flight; nothing if nothing is.
    pub fn wait(&mut self) {
        if std::mem::take(&mut self.in_flight) {
            self.push(Step::Wait);
        }
    }

    /// `right = left OP right`; see [`Step::Reduce`].
    pub fn reduce(&mut self, left: Span, right: Span) {
        if right.count > 0 {
            self.push(Step::Reduce { left: left.slice(), right: right.slice() });
        }
    }

    /// Copies, packs or unpacks; see [`Step::Copy`].
    pub fn copy(&mut self, from: Span, to: Span) {
        if from.bytes() > 0 && from != to {
            self.push(Step::Copy { from: from.slice(), to: to.slice() });
        }
    }

    /// Temporary memory for a copy of `like`, same type and count.
    pub fn temp_like(&mut self, like: Span) -> Span {
        self.temp(like.count, like.ty, like.layout)
    }

    /// Temporary memory for packed bytes.
    pub fn temp_bytes(&mut self, bytes: u64) -> Span {
        self.temp(bytes, Ty::Byte, TypeLayout::BYTE)
    }

    fn temp(&mut self, count: u64, ty: Ty, layout: TypeLayout) -> Span {
        let buf = Buf::Temp(self.temps.len() as u32);
        self.temps.push(Temp { count, ty });
        Span::new(buf, count, ty, layout)
    }

    /// A place for the packed bytes of `span`: its own memory where it is contiguous, else temporary memory.
    pub fn packed_place(&mut self, span: Span) -> Span {
        span.as_bytes().unwrap_or_else(|| self.temp_bytes(span.bytes()))
    }

    /// The packed bytes of `span`: as [`Schedule::packed_place`], and filled.
    pub fn pack(&mut self, span: Span) -> Span {
        let packed = self.packed_place(span);
        if packed.buf != span.buf {
            self.copy(span, packed);
        }
        packed
    }

    /// Brings the bytes in `packed`, which [`Schedule::packed_place`] gave for `span`, to their place.
    pub fn unpack(&mut self, packed: Span, span: Span) {
        if packed.buf != span.buf {
            self.copy(packed, span);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_stays_small() {
        assert!(size_of::<Step>() <= 80, "{}", size_of::<Step>());
    }

    #[test]
    fn clear_keeps_memory() {
        let mut schedule = Schedule::new();
        schedule.signal(StepPeer::Local(0));
        schedule.wait();
        let capacity = schedule.steps.capacity();
        schedule.clear();
        assert!(schedule.steps().is_empty());
        assert_eq!(schedule.steps.capacity(), capacity);
    }

    /// Three rounds of a message and a copy.
    fn rounds(schedule: &mut Schedule) {
        let place = |buf| Span::new(buf, 1, Ty::Byte, TypeLayout::BYTE);
        for round in 0..3 {
            schedule.signal(StepPeer::Local(round));
            schedule.wait();
            schedule.copy(place(Buf::Send), place(Buf::Recv));
        }
    }

    #[test]
    fn windows_end_at_waits_and_hold_every_other_step_once() {
        let mut whole = Schedule::new();
        rounds(&mut whole);
        for steps_min in 0..10 {
            let (mut steps, mut from, mut windows) = (Vec::new(), Some(0), 0);
            while let Some(start) = from {
                let mut window = Schedule::new();
                window.look_at(start, steps_min);
                rounds(&mut window);
                steps.extend_from_slice(window.steps());
                (from, windows) = (window.next_window(), windows + 1);
                steps.extend(from.map(|_| Step::Wait));
            }
            assert_eq!(steps, whole.steps(), "{steps_min}");
            assert_eq!(windows, [4, 4, 3, 2, 2, 2, 2, 2, 1, 1][steps_min], "{steps_min}");
        }
    }

    #[test]
    fn an_audience_is_named_by_its_place_and_forgotten_with_the_schedule() {
        let mut schedule = Schedule::new();
        let of = |ranks: std::ops::Range<u32>| ranks.map(StepPeer::Local);
        let (first, nobody, last) =
            (schedule.audience(of(3..5)), schedule.audience(of(0..0)), schedule.audience(of(7..8)));
        for audience in [first, nobody, last] {
            schedule.multicast(audience, Span::NOTHING);
        }
        assert_eq!((schedule.listeners(&first), schedule.listeners(&last)), (&[3, 4][..], &[7][..]));
        assert_eq!(schedule.steps().len(), 2, "nobody hears nothing");
        schedule.clear();
        assert_eq!(schedule, Schedule::new());
    }

    #[test]
    fn a_wait_with_nothing_in_flight_is_no_step() {
        let mut schedule = Schedule::new();
        schedule.wait();
        assert!(schedule.steps().is_empty());
    }
}
