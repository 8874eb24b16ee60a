"""A pulse goes round a ring of 16 cells, which the ranks share. NEURON loads an MPI library by itself and finds out whose ABI it has."""

from neuron import h

CELLS = 16
h.nrnmpi_init()
parallel = h.ParallelContext()
ranks, rank = int(parallel.nhost()), int(parallel.id())
own = []
for number in range(rank, CELLS, ranks):
    soma = h.Section(name=f"soma{number}")
    soma.L = soma.diam = 12.6
    soma.insert("hh")
    synapse = h.ExpSyn(soma(0.5))
    synapse.tau = 2
    spikes = h.NetCon(soma(0.5)._ref_v, None, sec=soma)
    spikes.threshold = 10
    parallel.set_gid2node(number, rank)
    parallel.cell(number, spikes)
    own.append((number, soma, synapse, spikes))
links = []
for number, _, synapse, _ in own:
    links.append(parallel.gid_connect((number - 1) % CELLS, synapse))
    links[-1].weight[0] = 0.04
    links[-1].delay = 5
if rank == 0:
    pulse = h.NetStim()
    pulse.number, pulse.start = 1, 9
    links.append(h.NetCon(pulse, own[0][2]))
    links[-1].weight[0] = 0.04
times, numbers = h.Vector(), h.Vector()
for number, *_ in own:
    parallel.spike_record(number, times, numbers)
parallel.set_maxstep(10)
h.finitialize(-65)
parallel.psolve(200)
count, total = parallel.allreduce(len(times), 1), parallel.allreduce(sum(times), 1)
if rank == 0:
    print(f"ok {ranks} {int(count)} {total:.1f}")
parallel.barrier()
parallel.done()
h.quit()
