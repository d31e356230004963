import xml.etree.ElementTree as ET


def main():
    inventory = ET.parse("inventory.xml")
    serial = input("Serial number: ")
    print(inventory.findtext("./device[serial='{}']/location".format(serial)))


if __name__ == "__main__":
    main()
