/* Time sharing, batch and jobs that wait for their pages: one program, as vos has one. With any other name it is pagewalk-workloads. */
#include "../common/bytes.h"
#include "calls.h"
#include "session.h"

int program_main(int argc, char **argv);
/* workloads/main.c */
int workloads_main(int argc, char **argv);

/* The workload jobs, under a name that has this kernel run it: pages take their time to come back (timesharing-kernel/paging.h). */
static int run_jobs(int argc, char **argv)
{
    static char name[] = "jobs";

    argv[1] = name;
    return workloads_main(argc, argv);
}

/* Called by start.S; the result is the exit status. */
int program_main(int argc, char **argv)
{
    if (argc >= 2 && string_equal(argv[1], "terminals"))
        log_off((int)terminals(argc - 2, argv + 2));
    if (argc >= 2 && string_equal(argv[1], "batch"))
        log_off((int)batch(argc - 2, argv + 2));
    if (argc >= 2 && string_equal(argv[1], "waiting-jobs"))
        return run_jobs(argc, argv);
    return workloads_main(argc, argv);
}
