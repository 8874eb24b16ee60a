! Chapter 8: grids and graphs, with logical arrays and weights that are not there.
! ranks: 1 2 4
#include "check.inc"
program topologies
   USE_MPI
   implicit none
   INCLUDE_MPI
   integer :: rank, ranks, error, checks = 0, failures = 0

   call check_begin()
   call grid()
   call graph()
   call distributed_graph()
   call check_done()

contains

   subroutine grid()
      HANDLE(MPI_Comm) :: cart, row
      integer :: dims(2), coords(2), found(2), n, source, dest, at, in(4)
      logical :: periods(2), remain(2)
      dims = 0
      call MPI_Dims_create(ranks, 2, dims, error)
      call check_equal(product(dims), ranks, 'the product of the sides')
      call MPI_Cart_create(MPI_COMM_WORLD, 2, dims, [.true., .false.], .false., cart, error)
      call MPI_Cart_get(cart, 2, found, periods, coords, error)
      call check(all(found == dims) .and. periods(1) .and. .not. periods(2), 'sides and periods')
      call MPI_Cart_rank(cart, coords, at, error)
      call check_equal(at, rank, 'the rank at its own place')
      call MPI_Cart_shift(cart, 1, dims(2), source, dest, error)
      call check(source == MPI_PROC_NULL .and. dest == MPI_PROC_NULL, 'nobody beyond the edge')
      in = -1
      call MPI_Neighbor_allgather(rank, 1, MPI_INTEGER, in, 1, MPI_INTEGER, cart, error)
      call MPI_Cart_shift(cart, 0, 1, source, dest, error)
      call check(in(1) == source .and. in(2) == dest, 'what the neighbours have')
      remain = [.false., .true.]
      call MPI_Cart_sub(cart, remain, row, error)
      call MPI_Comm_size(row, n, error)
      call check_equal(n, dims(2), 'ranks of a row')
      call MPI_Topo_test(row, n, error)
      call check_equal(n, MPI_CART, 'a row is a grid')
      call MPI_Comm_free(row, error)
      call MPI_Comm_free(cart, error)
   end subroutine grid

   ! A ring, each with the next only.
   subroutine graph()
      HANDLE(MPI_Comm) :: ring
      integer :: index(ranks), edges(ranks), n, i, neighbors(1)
      index = [(i, i = 1, ranks)]
      edges = [(mod(i, ranks), i = 1, ranks)]
      call MPI_Graph_create(MPI_COMM_WORLD, ranks, index, edges, .false., ring, error)
      call MPI_Graph_neighbors_count(ring, rank, n, error)
      call check_equal(n, 1, 'neighbours in the graph')
      call MPI_Graph_neighbors(ring, rank, 1, neighbors, error)
      call check_equal(neighbors(1), mod(rank + 1, ranks), 'the neighbour in the graph')
      index = 0
      call MPI_Graph_get(ring, ranks, ranks, index, edges, error)
      call check_equal(index(ranks), ranks, 'the last index')
      call MPI_Comm_free(ring, error)
   end subroutine graph

   subroutine distributed_graph()
      HANDLE(MPI_Comm) :: ring
      integer :: next(1), previous(1), n_in, n_out, from(1), to(1), in(1), weights(1)
      logical :: weighted
      HANDLE(MPI_Datatype) :: types(1)
      integer(MPI_ADDRESS_KIND) :: places(1)
      next = mod(rank + 1, ranks)
      previous = mod(rank + ranks - 1, ranks)
      call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, previous, MPI_UNWEIGHTED, 1, next, MPI_UNWEIGHTED, &
         MPI_INFO_NULL, .false., ring, error)
      call MPI_Dist_graph_neighbors_count(ring, n_in, n_out, weighted, error)
      call check(n_in == 1 .and. n_out == 1 .and. .not. weighted, 'a ring without weights')
      call MPI_Dist_graph_neighbors(ring, 1, from, MPI_UNWEIGHTED, 1, to, MPI_UNWEIGHTED, error)
      call check(from(1) == previous(1) .and. to(1) == next(1), 'who is before and behind')
      types = MPI_INTEGER
      places = 0
      call MPI_Neighbor_alltoallw([rank], [1], places, types, in, [1], places, types, ring, error)
      call check_equal(in(1), previous(1), 'Neighbor_alltoallw')
      call MPI_Comm_free(ring, error)
      weights = 5
      call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, previous, weights, 1, next, weights, MPI_INFO_NULL, &
         .false., ring, error)
      call MPI_Dist_graph_neighbors_count(ring, n_in, n_out, weighted, error)
      call check(weighted, 'a ring with weights')
      MPI_UNWEIGHTED = 77
      call MPI_Dist_graph_neighbors(ring, 1, from, MPI_UNWEIGHTED, 1, to, MPI_UNWEIGHTED, error)
      call check(from(1) == previous(1) .and. MPI_UNWEIGHTED(1) == 77, 'weights that are not asked for')
      call MPI_Comm_free(ring, error)
   end subroutine distributed_graph

#include "check_end.inc"

end program topologies
