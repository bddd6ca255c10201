"""The files for the desktop: valid, and of one mind with each other and with the sources.

usage: desktop_test.py SOURCE_DIR
"""
import configparser
import pathlib
import re
import shutil
import subprocess
import sys
import unittest
import xml.etree.ElementTree as tree

SOURCE = pathlib.Path(sys.argv[1])
PACKAGING = SOURCE / "packaging"
MIME = {"": "http://www.freedesktop.org/standards/shared-mime-info"}


def desktop_entry():
    parser = configparser.RawConfigParser()
    parser.optionxform = str
    parser.read(PACKAGING / "memprof-viewer.desktop", encoding="utf-8")
    return parser["Desktop Entry"]


def listed(text):
    return text.rstrip(";").split(";")


class Desktop(unittest.TestCase):
    def setUp(self):
        self.entry = desktop_entry()
        self.metainfo = tree.parse(PACKAGING / "memprof-viewer.metainfo.xml").getroot()
        self.mime = tree.parse(PACKAGING / "memprof.xml").getroot().find("mime-type", MIME)

    def test_type_of_logs(self):
        kind = self.mime.get("type")
        self.assertEqual(listed(self.entry["MimeType"]), [kind])
        self.assertEqual([each.text for each in self.metainfo.iter("mediatype")], [kind])
        self.assertEqual(self.mime.find("icon", MIME).get("name"), kind.replace("/", "-"))
        self.assertIn(f"{kind.replace('/', '-')}.svg", (PACKAGING / "CMakeLists.txt").read_text(encoding="utf-8"))

    def test_texts_are_the_same(self):
        self.assertEqual(self.metainfo.findtext("name"), self.entry["Name"])
        self.assertEqual(self.metainfo.findtext("summary"), self.entry["Comment"])
        self.assertEqual([each.text for each in self.metainfo.iter("keyword")], listed(self.entry["Keywords"]))
        self.assertEqual(self.metainfo.findtext("launchable"), "memprof-viewer.desktop")

    def test_the_viewer_has_the_entrys_name(self):
        header = (SOURCE / "viewer/window/app_icon.h").read_text(encoding="utf-8")
        name = re.search(r'kDesktopName\[\] = "(.*)"', header)
        self.assertEqual({self.entry["Icon"], self.entry["StartupWMClass"], self.entry["TryExec"]}, {name.group(1)})
        self.assertTrue((PACKAGING / f"{self.entry['Icon']}.svg").is_file())

    def valid(self, *command):
        if not shutil.which(command[0]):
            self.skipTest(f"no {command[0]}")
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_desktop_file_validate(self):
        self.assertEqual(self.valid("desktop-file-validate", str(PACKAGING / "memprof-viewer.desktop")), "")

    def test_appstreamcli(self):
        self.valid("appstreamcli", "validate", "--no-net", str(PACKAGING / "memprof-viewer.metainfo.xml"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
