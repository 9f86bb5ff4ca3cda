/* Counts the MPI calls of each rank, for bench/startup. It is loaded by LD_PRELOAD and prints one line per rank in
 * MPI_Finalize: rank, communicators created, messages sent, messages received, number of ranks received from. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static long communicators, sent, received;
static char *from;  /* [size]; 1 if a message was received from that rank */

static void hear(int source) {
    int size = 0;
    ++received;
    if (source < 0) return;
    if (!from) {
        PMPI_Comm_size(MPI_COMM_WORLD, &size);
        from = calloc((size_t)size, 1);
    }
    from[source] = 1;
}

int MPI_Comm_dup(MPI_Comm old, MPI_Comm *made) {
    ++communicators;
    return PMPI_Comm_dup(old, made);
}
int MPI_Comm_split_type(MPI_Comm old, int type, int key, MPI_Info info, MPI_Comm *made) {
    ++communicators;
    return PMPI_Comm_split_type(old, type, key, info, made);
}
int MPI_Isend(const void *data, int count, MPI_Datatype type, int to, int tag, MPI_Comm group, MPI_Request *request) {
    ++sent;
    return PMPI_Isend(data, count, type, to, tag, group, request);
}
int MPI_Irecv(void *data, int count, MPI_Datatype type, int source, int tag, MPI_Comm group, MPI_Request *request) {
    hear(source);
    return PMPI_Irecv(data, count, type, source, tag, group, request);
}
int MPI_Finalize(void) {
    int rank, size, sources = 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int r = 0; from && r < size; ++r) sources += from[r];
    fprintf(stderr, "COUNTED %d %ld %ld %ld %d\n", rank, communicators, sent, received, sources);
    return PMPI_Finalize();
}
