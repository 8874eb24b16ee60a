/* Cells of one range of addresses, which takes memory only where it is used: see cells.h. */
#include "cells.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>

/* Enough for a million attributes at a time. */
#define CELLS ((size_t)1 << 20)

typedef union Cell {
    MPI_Aint value;
    union Cell *next_free;
} Cell;

static Cell *all, *free_cells;
static size_t used;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int is_cell(const void *at)
{
    return all != NULL && (const Cell *)at >= all && (const Cell *)at < all + CELLS;
}

static void reserve(void)
{
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void *at = mmap(NULL, CELLS * sizeof(Cell), PROT_READ | PROT_WRITE, flags, -1, 0);
    if (at == MAP_FAILED) abort();
    all = at;
}

static Cell *take(void)
{
    if (all == NULL) reserve();
    Cell *cell = free_cells;
    if (cell != NULL)
        free_cells = cell->next_free;
    else if (used < CELLS)
        cell = &all[used++];
    else
        abort();
    return cell;
}

void *cell_of(MPI_Aint value)
{
    pthread_mutex_lock(&lock);
    Cell *cell = take();
    cell->value = value;
    pthread_mutex_unlock(&lock);
    return cell;
}

MPI_Aint cell_value(const void *at)
{
    return is_cell(at) ? ((const Cell *)at)->value : (MPI_Aint)at;
}

void cell_free(void *at)
{
    if (!is_cell(at)) return;
    pthread_mutex_lock(&lock);
    ((Cell *)at)->next_free = free_cells;
    free_cells = at;
    pthread_mutex_unlock(&lock);
}
