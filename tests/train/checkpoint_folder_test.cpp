// Generations of checkpoints in a folder: a crash at any moment leaves a complete one.

#include "train/checkpoints/checkpoint_folder.hpp"

#include <filesystem>
#include <fstream>
#include <string>

#include "base/error.hpp"
#include "base/folder.hpp"
#include "catch.hpp"

namespace dbench::train {
namespace {

namespace fs = std::filesystem;

void make_generation(const fs::path& path, const std::string& manifest) {
    fs::create_directories(path);
    std::ofstream(path / kManifest) << manifest;
}

std::string manifest_of(const fs::path& path) {
    std::ifstream file(path / kManifest);
    return {std::istreambuf_iterator<char>(file), {}};
}

TEST_CASE("A generation replaces another one of the same iteration") {
    const base::Folder folder;
    const fs::path path = folder / "20";
    make_generation(path, "old");
    make_generation(path.string() + kPartial, "new");
    replace_generation(path.string() + kPartial, path.string());
    CHECK(manifest_of(path) == "new");
    CHECK(generations(folder.path()) == std::vector<int64_t>{20});
    CHECK(unfinished(folder.path()).empty());
}

TEST_CASE("A generation that cannot be replaced is still there") {
    const base::Folder folder;
    const fs::path path = folder / "20";
    make_generation(path, "old");
    CHECK_THROWS_AS(replace_generation(path.string() + kPartial, path.string()), base::RunError);
    CHECK(manifest_of(path) == "old");
}

TEST_CASE("A kill while a generation is replaced loses none") {
    const base::Folder folder;
    const fs::path path = folder / "20";
    make_generation(path.string() + kReplaced, "old");
    make_generation(path.string() + kPartial, "new");
    restore_replaced(folder.path());
    CHECK(manifest_of(path) == "old");
    CHECK(generations(folder.path()) == std::vector<int64_t>{20});
    // If both exist, the new generation is complete and keeps its name.
    make_generation(path.string() + kReplaced, "older");
    restore_replaced(folder.path());
    CHECK(manifest_of(path) == "old");
}

}  // namespace
}  // namespace dbench::train
