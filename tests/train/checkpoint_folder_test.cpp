// Generations of checkpoints in a folder: a crash at any moment leaves a complete one.

#include "train/checkpoints/checkpoint_folder.hpp"

#include <filesystem>
#include <fstream>
#include <string>

#include "base/error.hpp"
#include "base/folder.hpp"
#include "catch.hpp"
#include "train/checkpoints/checkpoint_part.hpp"

namespace dbench::train {
namespace {

namespace fs = std::filesystem;

// Manifests begin as the program writes them; other files of that name are not its own.
std::string manifest_with(const std::string& spec) {
    return R"({"manifest":"{\"version\":1,\"spec\":\")" + spec + R"(\"}","checksum":1})";
}
const std::string kOld = manifest_with("old"), kOlder = manifest_with("older"),
                  kNew = manifest_with("new");

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
    make_generation(path, kOld);
    make_generation(path.string() + kPartial, kNew);
    replace_generation(path.string() + kPartial, path.string());
    CHECK(manifest_of(path) == kNew);
    CHECK(generations(folder.path()) == std::vector<int64_t>{20});
    CHECK(unfinished(folder.path()).empty());
}

TEST_CASE("The newest generation comes first, by its number") {
    const base::Folder folder;
    for (const char* name : {"20", "9", "100"}) make_generation(folder / name, kOld);
    make_generation(folder / "7.partial", kNew);
    CHECK(generations(folder.path()) == std::vector<int64_t>{100, 20, 9});
}

TEST_CASE("A generation that cannot be replaced is still there") {
    const base::Folder folder;
    const fs::path path = folder / "20";
    make_generation(path, kOld);
    CHECK_THROWS_AS(replace_generation(path.string() + kPartial, path.string()), base::RunError);
    CHECK(manifest_of(path) == kOld);
}

TEST_CASE("A kill while a generation is replaced loses none") {
    const base::Folder folder;
    const fs::path path = folder / "20";
    make_generation(path.string() + kReplaced, kOld);
    make_generation(path.string() + kPartial, kNew);
    restore_replaced(folder.path());
    CHECK(manifest_of(path) == kOld);
    CHECK(generations(folder.path()) == std::vector<int64_t>{20});
    // If both exist, the new generation is complete and keeps its name.
    make_generation(path.string() + kReplaced, kOlder);
    restore_replaced(folder.path());
    CHECK(manifest_of(path) == kOld);
}

TEST_CASE("Only files that begin as the program writes them are removed with a generation") {
    const base::Folder folder;
    const fs::path ours = folder / "20", theirs = folder / "30";
    make_generation(ours, kOld);
    std::ofstream(ours / "part-0.bin") << kPartBegin << "rows";
    std::ofstream(ours / "part-1.bin") << kPartBegin.substr(0, 5);  // A full disk has cut it.
    remove_generation(ours.string());
    CHECK_FALSE(fs::exists(ours));
    make_generation(theirs, "{\"name\": \"mine\"}");
    std::ofstream(theirs / "part-0.bin") << "mine, too";
    fs::create_symlink("manifest.json", theirs / "part-1.bin");
    remove_generation(theirs.string());
    CHECK(manifest_of(theirs) == "{\"name\": \"mine\"}");
    CHECK(fs::exists(theirs / "part-0.bin"));
    CHECK(fs::is_symlink(theirs / "part-1.bin"));
}

}  // namespace
}  // namespace dbench::train
