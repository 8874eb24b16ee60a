// The same as raw_pmi by PMIx, without MPI. It needs PMIx's header and library.
// usage, under a launcher: raw_pmix
#include <pmix.h>
#include <string.h>

int main(void) {
    pmix_proc_t me, all;
    pmix_value_t own, *theirs;
    pmix_info_t collect;
    bool yes = true;
    char text[] = "0123456789012345678901234567890123456789";
    if (PMIx_Init(&me, NULL, 0) != PMIX_SUCCESS)
        return 1;
    PMIX_VALUE_CONSTRUCT(&own);
    own.type = PMIX_STRING;
    own.data.string = text;
    if (PMIx_Put(PMIX_GLOBAL, "raw", &own) != PMIX_SUCCESS || PMIx_Commit() != PMIX_SUCCESS)
        return 1;
    PMIX_PROC_CONSTRUCT(&all);
    memcpy(all.nspace, me.nspace, sizeof all.nspace);
    all.rank = PMIX_RANK_WILDCARD;
    PMIX_INFO_LOAD(&collect, PMIX_COLLECT_DATA, &yes, PMIX_BOOL);
    if (PMIx_Fence(&all, 1, &collect, 1) != PMIX_SUCCESS)
        return 1;
    all.rank = 0;
    if (PMIx_Get(&all, "raw", NULL, 0, &theirs) != PMIX_SUCCESS)
        return 1;
    return PMIx_Finalize(NULL, 0) != PMIX_SUCCESS;
}
