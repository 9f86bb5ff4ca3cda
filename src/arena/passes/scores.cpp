#include "arena/passes/scores.hpp"

#include <vector>

#include "arena/grid/launch.hpp"
#include "arena/passes/scores_kernel.hpp"
#include "base/error.hpp"

namespace dbench::arena {

DBENCH_CLONES void on_host(const Score<float>& body) { run_blocks(body); }
DBENCH_CLONES void on_host(const Score<double>& body) { run_blocks(body); }

void score(const Outputs& outputs, double share, double all_terms, bool adds, double* loss,
           double* accuracy, Queue& queue) {
    DBENCH_EXPECT(outputs.classes <= kMaxScoredClasses);
    const auto accesses = [&] {
        const int64_t bytes = outputs.minibatches * static_cast<int64_t>(sizeof(double));
        return std::vector<Access>{writes(loss, bytes), writes(accuracy, bytes)};
    };
    with_type(outputs.type, [&]<class T>() {
        launch(queue, "score", Score<T>{outputs, share, all_terms, adds, loss, accuracy}, accesses);
    });
}

}  // namespace dbench::arena
