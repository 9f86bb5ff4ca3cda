#pragma once
// The list of all algorithms, in the order of the documentation. For each NAME, types/ defines the
// table's entry NAME_entry(), and src/conform the dense reference make_NAME(): a name without one
// of them does not link.

#define DBENCH_ALGORITHMS(ROW)  \
    ROW(centralized)            \
    ROW(dsgd)                   \
    ROW(averaged_momentum)      \
    ROW(decentlam)              \
    ROW(qg_dsgdm)               \
    ROW(qg_adam)                \
    ROW(dadam)                  \
    ROW(d_amsgrad)              \
    ROW(d2)                     \
    ROW(exact_diffusion)        \
    ROW(extra)                  \
    ROW(gradient_tracking)      \
    ROW(momentum_tracking)      \
    ROW(gut)                    \
    ROW(qg_gutm)                \
    ROW(relaysgd)               \
    ROW(local_sgd)              \
    ROW(gossip_pga)             \
    ROW(hierarchical_averaging) \
    ROW(slowmo)                 \
    ROW(consensus_control)      \
    ROW(dsgd_ac)                \
    ROW(diloco)                 \
    ROW(noloco)                 \
    ROW(gasloc)                 \
    ROW(cocod_sgd)              \
    ROW(overlap_local_sgd)      \
    ROW(feddkd)                 \
    ROW(ntk_dfl)                \
    ROW(sgp)                    \
    ROW(osgp)                   \
    ROW(quantized_push_sum)     \
    ROW(choco)                  \
    ROW(adagossip)              \
    ROW(dcd)                    \
    ROW(ecd)                    \
    ROW(deepsqueeze)            \
    ROW(beer)                   \
    ROW(motef)                  \
    ROW(moniqua)                \
    ROW(powergossip)            \
    ROW(ad_psgd)                \
    ROW(swift)
