// The tests of a folder's file system.

#include "profile/folder_check.hpp"

#include "base/error.hpp"
#include "catch.hpp"
#include "profile/result_file.hpp"
#include "profile/synthetic_run.hpp"

namespace dbench::profile::tests {

TEST_CASE("An ordinary folder passes all tests and is left empty") {
    const Folder folder;
    const FolderCheck check = check_folder(folder / "");
    INFO(to_text(check));
    CHECK(check.items.size() == 5);
    CHECK(check.good());
    CHECK(folder.entries() == 0);
}

TEST_CASE("A read-only folder is reported with the reason") {
    const FolderCheck check = check_folder("/proc");
    CHECK_FALSE(check.good());
    CHECK_FALSE(check.items.front().detail.empty());
    CHECK_THROWS_AS(check_folder("/dev/null"), base::UserError);
}

TEST_CASE("hdf5_version returns a version number") {
    CHECK_THAT(hdf5_version(), Catch::Matchers::ContainsSubstring("1.") ||
                                   Catch::Matchers::ContainsSubstring("2."));
}

}  // namespace dbench::profile::tests
