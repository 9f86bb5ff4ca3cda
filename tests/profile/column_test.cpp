// When the rows of a column become visible.

#include "profile/column.hpp"

#include "base/folder.hpp"
#include "catch.hpp"

namespace dbench::profile::tests {

TEST_CASE("A row of a long iteration is written at the next commit") {
    const base::Folder folder;
    const std::string path = folder / "column.h5";
    h5::prepare();
    const h5::File file(H5Fcreate(path.c_str(), H5F_ACC_EXCL, H5P_DEFAULT, h5::file_access()),
                        "create");
    FileGuard guard(path);
    Column column(file, {"x", Kind::float64, "I", "", "a number"}, Axes{}, arena::DType::float64,
                  {64, 1000, true});
    column.commit(0, Commit::due, guard);
    column.add(1.0);
    CHECK(column.commit(60, Commit::due, guard));
    CHECK(h5::rows_of(file, "x") == 1);
    column.add(2.0);
    CHECK_FALSE(column.commit(61, Commit::due, guard));  // Soon more rows may fill the chunk.
}

}  // namespace dbench::profile::tests
