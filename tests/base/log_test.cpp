#include "base/log.hpp"

#include "catch.hpp"
#include "in_child.hpp"

namespace dbench::base {
namespace {

std::string said(int rank, bool quiet) {
    return in_child([&] {
               set_log_identity(rank, quiet);
               notice("began");
               warn("share of evaluation is 12 %");
               report_error("disk full");
               return 0;
           })
        .stderr_text;
}

}  // namespace

TEST_CASE("Messages are marked with their kind and, except on rank 0, with the rank") {
    CHECK(said(0, false) ==
          "dbench: began\ndbench: warning: share of evaluation is 12 %\n"
          "dbench: error: disk full\n");
    CHECK(said(3, false) ==
          "dbench [rank 3]: began\ndbench [rank 3]: warning: share of evaluation is 12 %\n"
          "dbench [rank 3]: error: disk full\n");
}

TEST_CASE("quiet drops notices but not warnings and errors") {
    CHECK(said(0, true) ==
          "dbench: warning: share of evaluation is 12 %\ndbench: error: disk full\n");
}

TEST_CASE("Warnings are kept while somebody asks for them, on rank 0") {
    const Ended child = in_child([] {
        warn("before");
        {
            const KeptWarnings kept;
            warn("first");
            notice("no warning");
            set_log_rank(1);
            warn("of another rank");
            set_log_rank(0);
            warn("second");
            if (kept.texts() != std::vector<std::string>{"first", "second"}) return 1;
        }
        return KeptWarnings().texts().empty() ? 0 : 1;
    });
    CHECK(child.exit_status == 0);
}

}  // namespace dbench::base
